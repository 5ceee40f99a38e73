// NCCL's functions and the watched ones of libibverbs, with the declarations of NCCL 2.32 (nccl.h) and
// rdma-core (libibverbs/verbs.h). They only fill in their results.
#include "calls.h"

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  for (int i = 0; i < 128; i++) id->internal[i] = (char)(i + 1);
  return 0;
}
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId *id) {
  (void)comm;
  for (int i = 0; i < 128; i++) id->internal[i] = (char)(i + 2);
  return 0;
}
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank) {
  (void)nranks, (void)id, (void)rank;
  *comm = COMMUNICATOR(1);
  return 0;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank, void *config) {
  (void)nranks, (void)id, (void)rank, (void)config;
  *comm = COMMUNICATOR(2);
  return 7;
}
ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int ids, ncclUniqueId *id, void *config) {
  (void)nranks, (void)id, (void)rank, (void)config, (void)ids;
  *comm = COMMUNICATOR(3);
  return 0;
}
ncclResult_t ncclCommInitAll(ncclComm_t *comms, int devices, const int *list) {
  (void)devices, (void)list;
  *comms = COMMUNICATOR(4);
  return 0;
}
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *child, void *config) {
  (void)comm, (void)color, (void)key, (void)config;
  *child = color < 0 ? 0 : COMMUNICATOR(5);
  return 0;
}
ncclResult_t ncclCommShrink(ncclComm_t comm, int *list, int count, ncclComm_t *child, void *config, int flags) {
  (void)comm, (void)list, (void)count, (void)config, (void)flags;
  *child = COMMUNICATOR(6);
  return 0;
}
ncclResult_t ncclCommGrow(ncclComm_t comm, int nranks, const ncclUniqueId *id, int rank, ncclComm_t *child, void *config) {
  (void)comm, (void)nranks, (void)id, (void)rank, (void)config;
  *child = COMMUNICATOR(7);
  return 0;
}
#define ENDS(name) ncclResult_t name(ncclComm_t comm) { return comm == COMMUNICATOR(9) ? 4 : 0; }
ENDS(ncclCommFinalize)
ENDS(ncclCommDestroy)
ENDS(ncclCommAbort)
ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags) { (void)comm, (void)flags; return 0; }
ncclResult_t ncclCommUserRank(ncclComm_t comm, int *rank) { (void)comm; *rank = 11; return 0; }
ncclResult_t ncclCommCount(ncclComm_t comm, int *count) { (void)comm; *count = 12; return 0; }

// Functions with a second variant that takes a configuration as its last argument.
#define CONFIG , __attribute__((unused)) const void *config
#define WITH_OPERATION(name, config)                                                                         \
  ncclResult_t name(const void *send, void *receive, size_t count, int type, int operation, ncclComm_t comm, \
                    void *stream config) {                                                                   \
    return (void)send, (void)receive, (void)count, (void)type, (void)operation, (void)comm, (void)stream, 0; \
  }
#define WITH_ROOT(name, config)                                                                         \
  ncclResult_t name(const void *send, void *receive, size_t count, int type, int root, ncclComm_t comm, \
                    void *stream config) {                                                              \
    return (void)send, (void)receive, (void)count, (void)type, (void)root, (void)comm, (void)stream, 0; \
  }
#define ALL_ALIKE(name, config)                                                                                      \
  ncclResult_t name(const void *send, void *receive, size_t count, int type, ncclComm_t comm, void *stream config) { \
    return (void)send, (void)receive, (void)count, (void)type, (void)comm, (void)stream, 0;                          \
  }
#define ONE_BUFFER(name)                                                                                   \
  ncclResult_t name(void *buffer, size_t count, int type, int peer, ncclComm_t comm, void *stream) {         \
    return (void)buffer, (void)count, (void)type, (void)peer, (void)comm, (void)stream, 0;                   \
  }
WITH_OPERATION(ncclAllReduce, )
WITH_OPERATION(ncclAllReduceConfig, CONFIG)
WITH_OPERATION(ncclReduceScatter, )
WITH_OPERATION(ncclReduceScatterConfig, CONFIG)
ALL_ALIKE(ncclAllGather, )
ALL_ALIKE(ncclAllGatherConfig, CONFIG)
ALL_ALIKE(ncclAlltoAll, )
ALL_ALIKE(ncclAlltoAllConfig, CONFIG)
WITH_ROOT(ncclBroadcast, )
WITH_ROOT(ncclBroadcastConfig, CONFIG)
WITH_ROOT(ncclGather, )
WITH_ROOT(ncclGatherConfig, CONFIG)
WITH_ROOT(ncclScatter, )
WITH_ROOT(ncclScatterConfig, CONFIG)
ONE_BUFFER(ncclBcast)
ONE_BUFFER(ncclSend)
ONE_BUFFER(ncclRecv)
ncclResult_t ncclReduce(const void *send, void *receive, size_t count, int type, int operation, int root,
                        ncclComm_t comm, void *stream) {
  return (void)send, (void)receive, (void)count, (void)type, (void)operation, (void)root, (void)comm, (void)stream, 0;
}
ncclResult_t ncclReduceConfig(const void *send, void *receive, size_t count, int type, int operation, int root,
                              ncclComm_t comm, void *stream CONFIG) {
  return (void)send, (void)receive, (void)count, (void)type, (void)operation, (void)root, (void)comm, (void)stream, 0;
}
ncclResult_t ncclGroupStart(void) { return 0; }
ncclResult_t ncclGroupEnd(void) { return 0; }

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attributes) {
  static struct ibv_qp made;
  (void)pd;
  made.qp_num = 0x1234;
  made.qp_type = attributes->qp_type;
  return &made;
}
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask) {
  return (void)qp, (void)attributes, (void)mask, 0;
}
int ibv_destroy_qp(struct ibv_qp *qp) { return (void)qp, 0; }

static struct ibv_mr region = {.lkey = 0x77, .rkey = 0x88};
#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access) {
  return (void)pd, (void)address, (void)length, (void)access, &region;
}
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned access) {
  return (void)pd, (void)address, (void)length, (void)iova, (void)access, (struct ibv_mr *)0;
}
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access) {
  return (void)pd, (void)offset, (void)length, (void)iova, (void)fd, (void)access, &region;
}
int ibv_dereg_mr(struct ibv_mr *mr) { return (void)mr, 0; }
