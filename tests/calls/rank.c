// Rank 2 of 4, looking like a process with NCCL: a communicator, a queue pair to the next rank, then
// collectives until standard input ends.
#include "calls.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void) {
  char line[16];
  if (!fgets(line, sizeof line, stdin)) return 1;
  // Magic, and the root at 192.0.2.1:50000.
  ncclUniqueId id = {{0x10, 0x32, 0x54, 0x76, 0x18, 0x3a, 0x5c, 0x7e, 2, 0, 0xc3 - 256, 0x50, 0xc0 - 256, 0, 2, 1}};
  ncclComm_t comm;
  ncclCommInitRank(&comm, 4, id, 2);

  struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC};
  struct ibv_qp *qp = ibv_create_qp(NULL, &init);
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT};
  ibv_modify_qp(qp, &attributes, IBV_QP_STATE);
  attributes = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .dest_qp_num = 0x5678};
  attributes.ah_attr.is_global = 1;
  // ::ffff:198.51.100.3
  const uint8_t gid[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 51, 100, 3};
  memcpy(attributes.ah_attr.grh.dgid.raw, gid, sizeof gid);
  ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN);
  attributes.qp_state = IBV_QPS_RTS;
  ibv_modify_qp(qp, &attributes, IBV_QP_STATE);

  struct pollfd end = {.fd = STDIN_FILENO, .events = POLLIN};
  while (poll(&end, 1, 100) == 0) ncclAllReduce(NULL, NULL, 1 << 20, 7, 0, comm, NULL);
  ibv_destroy_qp(qp);
  ncclCommDestroy(comm);
  return 0;
}
