/* Loads a profiler plugin as NCCL does, and plays the calls of a short job with each version:
 *
 *   host LIBRARY VERSION WAIT_MS
 *
 * One communicator, one AllReduce, one channel: a send whose peer is late by WAIT_MS, a receive whose
 * data is. Two channels of a kernel, if a second plugin asked for them. Fields are written at the offsets of NCCL's headers, by number. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    const char *name;
    void *init;
    int (*start)(void *, void **, void *);
    int (*stop)(void *);
    int (*record)(void *, int, void *);
    int (*finalize)(void *);
} table;

static unsigned char d[256];
static int version;

static void put(size_t at, const void *value, size_t size) { memcpy(d + at, value, size); }
static void u8(size_t at, uint8_t v) { put(at, &v, 1); }
static void i32(size_t at, int32_t v) { put(at, &v, 4); }
static void u64(size_t at, uint64_t v) { put(at, &v, 8); }
static void text(size_t at, const char *v) { put(at, &v, 8); }

static void head(uint64_t type, void *parent, int rank) {
    /* What is not the event's own is not initialised. */
    memset(d, 0xa5, sizeof d);
    if (version <= 4) u8(0, (uint8_t)type); else u64(0, type);
    put(8, &parent, 8);
    i32(16, rank);
}

/* Whether calls go on to a second plugin: then a person looks at what is logged. */
static int has_next(void) {
    const char *next = getenv("RAILSCOPE_PROFILER_NEXT");
    return next && *next;
}

static void logger(int level, unsigned long flags, const char *file, int line, const char *format, ...) {
    (void)level, (void)flags, (void)file, (void)line;
    if (!has_next()) return;
    va_list rest;
    va_start(rest, format);
    vprintf(format, rest);
    va_end(rest);
    putchar(10);
}

/* Begins or ends the channels of the AllReduce's kernel; NCCL reads GPU timers, in nanoseconds here. */
static int channels(table *plugin, void *ctx, void *coll, void **handles, uint64_t timer) {
    for (int channel = 0; channel < 2; channel++) {
        uint64_t args[2] = {timer, 0};
        if (handles[channel]) {
            if (plugin->record(handles[channel], 22, args) || plugin->stop(handles[channel])) return 1;
            continue;
        }
        head(64, coll, 0);
        u8(24, (uint8_t)channel), u64(32, timer);
        if (plugin->start(ctx, &handles[channel], d)) return 1;
    }
    return 0;
}

static void pause_ms(int ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

#define CHECK(what) \
    do { \
        if (!(what)) { fprintf(stderr, "version %d: failed: %s\n", version, #what); return 1; } \
    } while (0)

int main(int count, char **arguments) {
    if (count != 4) return 2;
    version = atoi(arguments[2]);
    int wait = atoi(arguments[3]);
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    for (int v = 1; v <= 7; v++) {
        char name[32];
        snprintf(name, sizeof name, "ncclProfiler_v%d", v);
        CHECK(dlsym(library, name) != NULL);
    }
    char name[32];
    snprintf(name, sizeof name, "ncclProfiler_v%d", version);
    table *plugin = dlsym(library, name);
    CHECK(strcmp(plugin->name, "railscope") == 0);

    void *ctx = NULL;
    int mask = 0;
    if (version <= 3)
        CHECK(((int (*)(void **, int *))plugin->init)(&ctx, &mask) == 0);
    else if (version == 4)
        CHECK(((int (*)(void **, int *, const char *, uint64_t, int, int, int, void *))plugin->init)(
                  &ctx, &mask, "world", 0xabc, 2, 2, 1, logger) == 0);
    else
        CHECK(((int (*)(void **, uint64_t, int *, const char *, int, int, int, void *))plugin->init)(
                  &ctx, 0xabc, &mask, "world", 2, 2, 1, logger) == 0);
    CHECK(ctx != NULL);
    CHECK(has_next() ? (mask & 30) == 30 : mask == 30);

    void *group = (void *)1, *coll = NULL, *op = NULL, *step = NULL, *kernel[2] = {NULL, NULL};
    void *group_api = NULL, *coll_api = NULL;
    if (version >= 5) {
        head(256, NULL, 0);
        u8(24, 0), i32(28, 1);
        CHECK(plugin->start(ctx, &group_api, d) == 0);
        head(512, group_api, 0);
        text(24, "AllReduce"), u64(32, 1024), text(40, "ncclFloat32"), i32(48, 0), u64(56, 0), u8(64, 0), u64(72, 0);
        CHECK(plugin->start(ctx, &coll_api, d) == 0);
        if (coll_api) CHECK(plugin->stop(coll_api) == 0);
    }
    head(1, NULL, 0);
    CHECK(plugin->start(ctx, &group, d) == 0);
    CHECK(has_next() ? group != (void *)1 : group == NULL);
    head(2, version >= 5 ? coll_api : group, 1);
    if (version == 1) {
        u64(32, 0xabc), u64(40, 17), u8(48, 4), u64(72, 1024), i32(80, 0), u8(84, 7), u8(104, 2), u8(106, 1), u8(107, 2);
    } else if (version <= 3) {
        u64(32, 0xabc), u64(40, 17), text(48, "AllReduce"), u64(72, 1024), i32(80, 0), text(88, "ncclFloat32");
        size_t at = version == 2 ? 104 : 96;
        u8(at, 2), text(at + 8, "RING"), text(at + 16, "SIMPLE");
    } else {
        u64(24, 17), text(32, "AllReduce"), u64(56, 1024), i32(64, 0), text(72, "ncclFloat32"), u8(80, 2);
        text(88, "RING"), text(96, "SIMPLE");
        if (version >= 5) put(104, &group, 8);
        if (version == 7) u64(128, 4812);
    }
    CHECK(plugin->start(ctx, &coll, d) == 0);
    CHECK(coll != NULL);
    CHECK(plugin->stop(coll) == 0);
    if (group) CHECK(plugin->stop(group) == 0);
    if (group_api) CHECK(plugin->stop(group_api) == 0);
    int has_kernel = version >= 4 && mask & 64;
    if (has_kernel) CHECK(channels(plugin, ctx, coll, kernel, 1000000) == 0);
    for (int is_send = 0; is_send < 2; is_send++) {
        head(8, coll, 1);
        i32(24, getpid()), u8(28, 1), i32(32, 0), i32(36, 1), i32(40, 65536), i32(44, is_send);
        CHECK(plugin->start(ctx, &op, d) == 0);
        CHECK(op != NULL);
        uint64_t size[2] = {65536, 0};
        if (version >= 4) CHECK(plugin->record(op, 19, NULL) == 0);
        head(16, op, 1);
        i32(24, 0);
        CHECK(plugin->start(ctx, &step, d) == 0);
        CHECK(step != NULL);
        if (is_send) {
            CHECK(plugin->record(step, 8, size) == 0);
            for (int poll = 0; poll < 3; poll++) {
                CHECK(version <= 3 ? plugin->record(op, 1, size) == 0 : plugin->record(step, 20, size) == 0);
                if (poll == 0) pause_ms(wait);
            }
            CHECK(plugin->record(step, 9, size) == 0);
        } else {
            void *again = NULL;
            CHECK(plugin->start(ctx, &again, d) == 0);
            CHECK(again == step);
            CHECK(plugin->record(step, 10, size) == 0);
            pause_ms(wait);
            CHECK(plugin->record(step, 11, size) == 0);
            CHECK(plugin->record(step, 12, size) == 0);
        }
        CHECK(plugin->stop(step) == 0);
        CHECK(plugin->stop(op) == 0);
    }
    if (has_kernel) {
        CHECK(channels(plugin, ctx, coll, kernel, 5000000) == 0);
        /* Inspector writes every so often. */
        pause_ms(50);
    }
    CHECK(plugin->stop(NULL) == 0);
    CHECK(plugin->record(NULL, 21, NULL) == 0);
    if (has_next()) printf("version %d, mask %d\n", version, mask);
    CHECK(plugin->finalize(ctx) == 0);
    CHECK(dlclose(library) == 0);
    CHECK(dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) == NULL);
    return 0;
}
