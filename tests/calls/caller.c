// Waits for a line on standard input, then calls every function once, with a different number for each argument.
#include "calls.h"

#include <stdio.h>
#include <string.h>

#undef ibv_reg_mr

#define ADDRESS(number) ((void *)(0xa00000000000ull + (number)))
#define STREAM(number) ((void *)(0x500000000000ull + (number)))

static ncclUniqueId id(int first) {
  ncclUniqueId id;
  for (int i = 0; i < 128; i++) id.internal[i] = (char)(first + i);
  return id;
}

int main(void) {
  char line[16];
  if (!fgets(line, sizeof line, stdin)) return 1;
  ncclUniqueId made, several[2] = {id(30), id(40)}, grown = id(50);
  ncclComm_t comm;
  int value;
  ncclGetUniqueId(&made);
  ncclCommGetUniqueId(COMMUNICATOR(20), &made);
  ncclCommInitRank(&comm, 1101, id(10), 102);
  ncclCommInitRankConfig(&comm, 1103, id(20), 104, NULL);
  ncclCommInitRankScalable(&comm, 1105, 106, 2, several, NULL);
  ncclCommInitAll(&comm, 107, NULL);
  ncclCommSplit(COMMUNICATOR(21), 108, -109, &comm, NULL);
  ncclCommSplit(COMMUNICATOR(21), -1, 110, &comm, NULL);
  ncclCommShrink(COMMUNICATOR(22), NULL, 111, &comm, NULL, 0);
  ncclCommGrow(COMMUNICATOR(23), 112, NULL, -1, &comm, NULL);
  ncclCommGrow(NULL, 1113, &grown, 114, &comm, NULL);
  ncclCommFinalize(COMMUNICATOR(8));
  ncclCommDestroy(COMMUNICATOR(9));
  ncclCommAbort(COMMUNICATOR(10));
  ncclCommRevoke(COMMUNICATOR(11), 0);
  ncclCommUserRank(COMMUNICATOR(12), &value);
  ncclCommCount(COMMUNICATOR(13), &value);
  ncclGroupStart();
  ncclAllReduce(ADDRESS(1), ADDRESS(2), 201, 7, 0, COMMUNICATOR(31), STREAM(1));
  ncclAllReduceConfig(ADDRESS(1), ADDRESS(2), 201, 7, 0, COMMUNICATOR(31), STREAM(1), NULL);
  ncclReduceScatter(ADDRESS(3), ADDRESS(4), 202, 9, 4, COMMUNICATOR(32), STREAM(2));
  ncclReduceScatterConfig(ADDRESS(3), ADDRESS(4), 202, 9, 4, COMMUNICATOR(32), STREAM(2), NULL);
  ncclAllGather(ADDRESS(5), ADDRESS(6), 203, 0, COMMUNICATOR(33), STREAM(3));
  ncclAllGatherConfig(ADDRESS(5), ADDRESS(6), 203, 0, COMMUNICATOR(33), STREAM(3), NULL);
  ncclAlltoAll(ADDRESS(7), ADDRESS(8), 204, 4, COMMUNICATOR(34), STREAM(4));
  ncclAlltoAllConfig(ADDRESS(7), ADDRESS(8), 204, 4, COMMUNICATOR(34), STREAM(4), NULL);
  ncclBroadcast(ADDRESS(9), ADDRESS(10), 205, 6, 301, COMMUNICATOR(35), STREAM(5));
  ncclBroadcastConfig(ADDRESS(9), ADDRESS(10), 205, 6, 301, COMMUNICATOR(35), STREAM(5), NULL);
  ncclBcast(ADDRESS(11), 206, 8, 302, COMMUNICATOR(36), STREAM(6));
  ncclReduce(ADDRESS(12), ADDRESS(13), 207, 2, 2, 303, COMMUNICATOR(37), STREAM(7));
  ncclReduceConfig(ADDRESS(12), ADDRESS(13), 207, 2, 2, 303, COMMUNICATOR(37), STREAM(7), NULL);
  ncclGather(ADDRESS(14), ADDRESS(15), 208, 10, 304, COMMUNICATOR(38), STREAM(8));
  ncclGatherConfig(ADDRESS(14), ADDRESS(15), 208, 10, 304, COMMUNICATOR(38), STREAM(8), NULL);
  ncclScatter(ADDRESS(16), ADDRESS(17), 209, 11, 305, COMMUNICATOR(39), STREAM(9));
  ncclScatterConfig(ADDRESS(16), ADDRESS(17), 209, 11, 305, COMMUNICATOR(39), STREAM(9), NULL);
  ncclSend(ADDRESS(18), 210, 1, 306, COMMUNICATOR(40), STREAM(10));
  ncclRecv(ADDRESS(19), 1ull << 40, 5, 307, COMMUNICATOR(41), NULL);
  ncclSend(ADDRESS(20), 211, 99, 308, COMMUNICATOR(42), STREAM(11));
  ncclGroupEnd();

  struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC};
  struct ibv_qp *qp = ibv_create_qp(NULL, &init);
  struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_4096, .rq_psn = 0xabc, .dest_qp_num = 0x5678};
  rtr.ah_attr.is_global = 1;
  rtr.ah_attr.sl = 3;
  rtr.ah_attr.grh.sgid_index = 5;
  rtr.ah_attr.grh.traffic_class = 106;
  for (int i = 0; i < 16; i++) rtr.ah_attr.grh.dgid.raw[i] = (uint8_t)(0xf0 + i);
  ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
  struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .sq_psn = 0xdef, .timeout = 20, .retry_cnt = 7};
  ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT);
  struct ibv_mr *region = ibv_reg_mr(NULL, ADDRESS(30), 401, 0);
  ibv_reg_mr_iova2(NULL, ADDRESS(31), 402, 0, 0);
  ibv_reg_dmabuf_mr(NULL, 403, 404, 0, 3, 0);
  ibv_dereg_mr(region);
  ibv_destroy_qp(qp);
  return 0;
}
