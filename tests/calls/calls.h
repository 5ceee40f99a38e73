// The declarations of NCCL (2.32, nccl.h) and libibverbs that are used here.
#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

typedef struct { char internal[128]; } ncclUniqueId;
typedef void *ncclComm_t;
typedef int ncclResult_t;

#define COMMUNICATOR(number) ((ncclComm_t)(0xc00000000000ull + (number)))

ncclResult_t ncclGetUniqueId(ncclUniqueId *);
ncclResult_t ncclCommGetUniqueId(ncclComm_t, ncclUniqueId *);
ncclResult_t ncclCommInitRank(ncclComm_t *, int nranks, ncclUniqueId, int rank);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *, int nranks, ncclUniqueId, int rank, void *);
ncclResult_t ncclCommInitRankScalable(ncclComm_t *, int nranks, int rank, int ids, ncclUniqueId *, void *);
ncclResult_t ncclCommInitAll(ncclComm_t *, int devices, const int *);
ncclResult_t ncclCommSplit(ncclComm_t, int color, int key, ncclComm_t *, void *);
ncclResult_t ncclCommShrink(ncclComm_t, int *, int count, ncclComm_t *, void *, int flags);
ncclResult_t ncclCommGrow(ncclComm_t, int nranks, const ncclUniqueId *, int rank, ncclComm_t *, void *);
ncclResult_t ncclCommFinalize(ncclComm_t);
ncclResult_t ncclCommDestroy(ncclComm_t);
ncclResult_t ncclCommAbort(ncclComm_t);
ncclResult_t ncclCommRevoke(ncclComm_t, int flags);
ncclResult_t ncclCommUserRank(ncclComm_t, int *);
ncclResult_t ncclCommCount(ncclComm_t, int *);
ncclResult_t ncclAllReduce(const void *, void *, size_t, int type, int operation, ncclComm_t, void *stream);
ncclResult_t ncclAllReduceConfig(const void *, void *, size_t, int type, int operation, ncclComm_t,
                                 void *stream, const void *config);
ncclResult_t ncclReduceScatter(const void *, void *, size_t, int type, int operation, ncclComm_t, void *stream);
ncclResult_t ncclReduceScatterConfig(const void *, void *, size_t, int type, int operation, ncclComm_t,
                                     void *stream, const void *config);
ncclResult_t ncclAllGather(const void *, void *, size_t, int type, ncclComm_t, void *stream);
ncclResult_t ncclAllGatherConfig(const void *, void *, size_t, int type, ncclComm_t,
                                 void *stream, const void *config);
ncclResult_t ncclAlltoAll(const void *, void *, size_t, int type, ncclComm_t, void *stream);
ncclResult_t ncclAlltoAllConfig(const void *, void *, size_t, int type, ncclComm_t,
                                void *stream, const void *config);
ncclResult_t ncclBroadcast(const void *, void *, size_t, int type, int root, ncclComm_t, void *stream);
ncclResult_t ncclBroadcastConfig(const void *, void *, size_t, int type, int root, ncclComm_t,
                                 void *stream, const void *config);
ncclResult_t ncclGather(const void *, void *, size_t, int type, int root, ncclComm_t, void *stream);
ncclResult_t ncclGatherConfig(const void *, void *, size_t, int type, int root, ncclComm_t,
                              void *stream, const void *config);
ncclResult_t ncclScatter(const void *, void *, size_t, int type, int root, ncclComm_t, void *stream);
ncclResult_t ncclScatterConfig(const void *, void *, size_t, int type, int root, ncclComm_t,
                               void *stream, const void *config);
ncclResult_t ncclBcast(void *, size_t, int type, int root, ncclComm_t, void *stream);
ncclResult_t ncclSend(void *, size_t, int type, int peer, ncclComm_t, void *stream);
ncclResult_t ncclRecv(void *, size_t, int type, int peer, ncclComm_t, void *stream);
ncclResult_t ncclReduce(const void *, void *, size_t, int type, int operation, int root, ncclComm_t, void *stream);
ncclResult_t ncclReduceConfig(const void *, void *, size_t, int type, int operation, int root, ncclComm_t,
                              void *stream, const void *config);
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
