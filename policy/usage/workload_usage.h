/*
 * What the pods of one workload use, as a line of text. The controller measures it and writes lines
 * to a ConfigMap; extenders and `kubectl plimsoll` read them.
 *
 *     web/Deployment/shop pods=12 guaranteed=0 request=0.25/536870912 mean=0.113/201326592
 *         spread=0.02/1e+07 p95=0.17/214958080 max=0.31/229638144 week=0.31/229638144
 *         since=2026-11-29T07:00:00Z seen=2026-11-29T09:12:00Z weight=1584 cpu=33:40,34:999
 * mem=39:999
 *
 * It is one line with single spaces. Pairs are CPU in cores and memory in bytes. The first word is
 * a name of policy/pods/pod_workload.h. Unknown keys are ignored, and missing ones are 0, so
 * programs of different versions understand each other; without `mean` a line is malformed. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "base/error.h"
#include "policy/usage/usage_histogram.h"

#define USAGE_CORES_MAX 10000.0
#define USAGE_BYTES_MAX 0x1p50

enum {
        WORKLOAD_USAGE_NAME_MAX = 381,  /* POD_FACTS_WORKLOAD_MAX */
        WORKLOAD_USAGE_LINE_MAX = 4096, /* a longer line is malformed; we write less than 2,400 */
        WORKLOAD_USAGE_WEIGHT_MAX = 999,
};

/* The ConfigMaps. Each has WORKLOADS_KEY with lines; the first one also has the number of all. */
#define WORKLOADS_CONFIG_MAP "plimsoll-workloads" /* then "plimsoll-workloads-1" and so on */
enum { WORKLOADS_CONFIG_MAP_MAX = sizeof(WORKLOADS_CONFIG_MAP) + sizeof("-") + 20 };
#define WORKLOADS_KEY "workloads"
#define WORKLOADS_SHARDS_KEY "shards"
enum {
        WORKLOADS_SHARDS_MAX = 8,
        WORKLOADS_SHARD_BYTES = 512 << 10,
        WORKLOADS_PUBLISHED_MAX = 16000
};

struct workload_usage {
        size_t pods;        /* that are running */
        bool is_guaranteed; /* their QoS class */
        /* Of one pod: the mean over pods; the means over pods of the last 10 minutes, and their
         * standard deviation; the 95% quantile and the maximum of a sample. */
        struct pod_load request, mean, spread, p95;
        /* The maximum of this week and the last one; of this week (weeks of Unix time). */
        struct pod_load max, week_max;
        int64_t since_unix_ms, seen_unix_ms; /* the first and the last sample */
        double weight;                       /* of all samples in a histogram */
        struct usage_histogram histograms[ESTIMATE_RESOURCE_COUNT];
};

/* A name in a line; borrowed, not terminated. */
struct workload_usage_name {
        const char *text;
        size_t len;
};

/** workload_usage_is_name() - whether a line can have the name: no spaces or control characters */
bool workload_usage_is_name(const char *text, size_t len);
/**
 * workload_usage_parse() - read a line without its end
 * @ret: its histograms have the weight `weight`
 * Return: 0; -EINVAL malformed; -ERANGE a value is negative or absurd
 */
_must_check_ int workload_usage_parse(const char *line, size_t len,
                                      struct workload_usage_name *ret_name,
                                      struct workload_usage *ret, struct error *err);
/** workload_usage_format() - append a line and its end; @name is workload_usage_is_name(), numbers
 * are finite, and not larger than those that can be read */
void workload_usage_format(const struct workload_usage *usage, const char *name, size_t name_len,
                           struct buf *out);
/** workload_usage_shards() - how many ConfigMaps there are, 1 to WORKLOADS_SHARDS_MAX
 * @text: WORKLOADS_SHARDS_KEY of the first one; NULL: it does not say */
size_t workload_usage_shards(const char *text);
/** workload_usage_shard() - the ConfigMap of a workload, of @shards > 0 */
size_t workload_usage_shard(const char *name, size_t name_len, size_t shards);
/** workload_usage_config_map() - the name of a ConfigMap */
void workload_usage_config_map(size_t shard, char text[static WORKLOADS_CONFIG_MAP_MAX]);
