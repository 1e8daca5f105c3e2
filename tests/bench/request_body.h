/* Requests of about the size that a scheduler's have, the same in every run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/buf.h"
#include "tests/bench/bench.h"

static inline void request_put_pod(struct buf *out) {
        (void)buf_puts(out, "{\"metadata\":{\"name\":\"web-7d9c5b-x2x7k\",\"namespace\":\"shop\","
                            "\"uid\":\"6f0c7b0e-3a5d-4b1c-9d53-0a4f1f5f0b11\",\"labels\":{\"app\":"
                            "\"web\"},\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":"
                            "\"ReplicaSet\",\"name\":\"web-7d9c5b\",\"controller\":true}]},"
                            "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"nginx\","
                            "\"env\":[");
        for (int i = 0; i < 60; i++)
                (void)buf_printf(out, "%s{\"name\":\"SETTING_%d\",\"value\":\"%016llx-%016llx\"}",
                                 i ? "," : "", i, (unsigned long long)bench_random(),
                                 (unsigned long long)bench_random());
        (void)buf_puts(out, "]}],\"restartPolicy\":\"Always\",\"schedulerName\":"
                            "\"default-scheduler\"},\"status\":{\"phase\":\"Pending\"}}");
}

static inline void request_put_node(struct buf *out, const char *name) {
        (void)buf_printf(out,
                         "{\"metadata\":{\"name\":\"%s\",\"uid\":\"%016llx\",\"labels\":{"
                         "\"kubernetes.io/hostname\":\"%s\",\"kubernetes.io/os\":\"linux\"},"
                         "\"annotations\":{\"cpu_usage_avg_5m\":\"0.34210,2026-07-23T11:25:54Z\","
                         "\"csi.volume.kubernetes.io/nodeid\":\"{\\\"ebs.csi.aws.com\\\":\\\"i-%llx"
                         "\\\"}\"}},\"spec\":{\"podCIDR\":\"10.244.1.0/24\",\"providerID\":"
                         "\"aws:///eu-1a/i-%llx\"},\"status\":{\"capacity\":{\"cpu\":\"16\","
                         "\"memory\":\"65843020Ki\",\"pods\":\"110\"},\"conditions\":[",
                         name, (unsigned long long)bench_random(), name,
                         (unsigned long long)bench_random(), (unsigned long long)bench_random());
        for (int i = 0; i < 5; i++)
                (void)buf_printf(out,
                                 "%s{\"type\":\"Condition%d\",\"status\":\"False\","
                                 "\"lastHeartbeatTime\":\"2026-07-23T11:25:54Z\",\"reason\":"
                                 "\"KubeletHasSufficientMemory\",\"message\":\"kubelet has "
                                 "sufficient memory available\"}",
                                 i ? "," : "", i);
        (void)buf_puts(out, "],\"images\":[");
        for (int i = 0, n = 12 + (int)(bench_random() % 16); i < n; i++)
                (void)buf_printf(out,
                                 "%s{\"names\":[\"registry.example.com/team/app-%d@sha256:%016llx"
                                 "%016llx%016llx%016llx\",\"registry.example.com/team/app-%d:v1.%d"
                                 "\"],\"sizeBytes\":%llu}",
                                 i ? "," : "", i, (unsigned long long)bench_random(),
                                 (unsigned long long)bench_random(),
                                 (unsigned long long)bench_random(),
                                 (unsigned long long)bench_random(), i, i,
                                 (unsigned long long)bench_random() >> 34);
        (void)buf_puts(out, "],\"nodeInfo\":{\"architecture\":\"amd64\",\"kernelVersion\":"
                            "\"6.1.0-18-amd64\",\"kubeletVersion\":\"v1.30.2\"}}}");
}

static inline void request_node_name(size_t i, char name[static 64]) {
        (void)snprintf(name, 64, "ip-10-%zu-%zu-%zu.eu-central-1.compute", i / 250 % 250, i % 250,
                       i % 7);
}

static inline void request_put(struct buf *out, size_t count, bool has_nodes) {
        char name[64];

        (void)buf_puts(out, "{\"Pod\":");
        request_put_pod(out);
        (void)buf_puts(out, has_nodes ? ",\"Nodes\":{\"metadata\":{},\"items\":["
                                      : ",\"Nodes\":null,\"NodeNames\":[");
        for (size_t i = 0; i < count; i++) {
                request_node_name(i, name);
                (void)buf_puts(out, i ? "," : "");
                if (has_nodes)
                        request_put_node(out, name);
                else
                        (void)buf_printf(out, "\"%s\"", name);
        }
        (void)buf_puts(out, has_nodes ? "]},\"NodeNames\":null}" : "]}");
}
