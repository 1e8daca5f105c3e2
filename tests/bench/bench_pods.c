/*
 * What reading a Pod costs: skimming it for the estimate (policy/pods) against jansson's tree, on
 * pods of the size and shape that an API server delivers: managedFields, volumes, probes, statuses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/json.h"
#include "policy/pods/pod_facts.h"

enum { PODS = 512, ROUNDS = 15, JANSSON_PODS = 64, POD_MAX_BYTES = 64 << 10 };

static uint64_t random_next(void) {
        static uint64_t state = 88172645463325252;

        state ^= state << 13;
        state ^= state >> 7;
        return state ^= state << 17;
}

static void put_managed_fields(struct buf *out) {
        (void)buf_puts(out, "\"managedFields\":[{\"manager\":\"kube-controller-manager\","
                            "\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":"
                            "\"2026-07-23T11:00:00Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{"
                            "\"f:metadata\":{\"f:generateName\":{},\"f:labels\":{\".\":{},"
                            "\"f:app\":{},\"f:pod-template-hash\":{}},\"f:ownerReferences\":{"
                            "\".\":{},\"k:{\\\"uid\\\":\\\"6f0c7b0e-3a5d-4b1c-9d53-0a4f1f5f0b11"
                            "\\\"}\":{}}},\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"app"
                            "\\\"}\":{\".\":{},\"f:env\":{\".\":{}");
        for (int i = 0; i < 12; i++)
                (void)buf_printf(out,
                                 ",\"k:{\\\"name\\\":\\\"SETTING_%d\\\"}\":{\".\":{},\"f:name\":{},"
                                 "\"f:value\":{}}",
                                 i);
        (void)buf_puts(out, "},\"f:image\":{},\"f:imagePullPolicy\":{},\"f:livenessProbe\":{"
                            "\".\":{},\"f:httpGet\":{\".\":{},\"f:path\":{},\"f:port\":{}}},"
                            "\"f:resources\":{\".\":{},\"f:limits\":{\".\":{},\"f:memory\":{}},"
                            "\"f:requests\":{\".\":{},\"f:cpu\":{},\"f:memory\":{}}}}}}}},"
                            "{\"manager\":\"kubelet\",\"operation\":\"Update\",\"apiVersion\":"
                            "\"v1\",\"subresource\":\"status\",\"fieldsV1\":{\"f:status\":{"
                            "\"f:conditions\":{");
        for (int i = 0; i < 4; i++)
                (void)buf_printf(out,
                                 "%s\"k:{\\\"type\\\":\\\"Condition%d\\\"}\":{\".\":{},"
                                 "\"f:lastProbeTime\":{},\"f:lastTransitionTime\":{},"
                                 "\"f:status\":{},\"f:type\":{}}",
                                 i ? "," : "", i);
        (void)buf_puts(out, "},\"f:containerStatuses\":{},\"f:hostIP\":{},\"f:phase\":{},"
                            "\"f:podIP\":{},\"f:startTime\":{}}}}]");
}

static void put_container(struct buf *out, const char *name) {
        (void)buf_printf(out,
                         "{\"name\":\"%s\",\"image\":\"registry.example.com/shop/%s:v1.2.3\","
                         "\"env\":[",
                         name, name);
        for (int i = 0; i < 12; i++)
                (void)buf_printf(out, "%s{\"name\":\"SETTING_%d\",\"value\":\"%016llx\"}",
                                 i ? "," : "", i, (unsigned long long)random_next());
        (void)buf_puts(out, "],\"resources\":{\"limits\":{\"memory\":\"512Mi\"},\"requests\":{"
                            "\"cpu\":\"250m\",\"memory\":\"256Mi\"}},\"volumeMounts\":[{\"name\":"
                            "\"kube-api-access-x2x7k\",\"readOnly\":true,\"mountPath\":"
                            "\"/var/run/secrets/kubernetes.io/serviceaccount\"}],\"livenessProbe\":"
                            "{\"httpGet\":{\"path\":\"/healthz\",\"port\":8080,\"scheme\":\"HTTP\"}"
                            ",\"timeoutSeconds\":1,\"periodSeconds\":10,\"successThreshold\":1,"
                            "\"failureThreshold\":3},\"terminationMessagePath\":"
                            "\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\","
                            "\"imagePullPolicy\":\"IfNotPresent\"}");
}

static void put_status(struct buf *out) {
        static const char *const types[] = {"Initialized", "Ready", "ContainersReady",
                                            "PodScheduled"};

        (void)buf_puts(out, "{\"phase\":\"Running\",\"conditions\":[");
        for (size_t i = 0; i < ARRAY_LEN(types); i++)
                (void)buf_printf(out,
                                 "%s{\"type\":\"%s\",\"status\":\"True\",\"lastProbeTime\":null,"
                                 "\"lastTransitionTime\":\"2026-07-23T11:00:05Z\"}",
                                 i ? "," : "", types[i]);
        (void)buf_puts(out, "],\"hostIP\":\"10.0.0.7\",\"podIP\":\"10.244.1.17\",\"startTime\":"
                            "\"2026-07-23T11:00:05Z\",\"containerStatuses\":[");
        for (int i = 0; i < 2; i++)
                (void)buf_printf(
                        out,
                        "%s{\"name\":\"c%d\",\"state\":{\"running\":{\"startedAt\":"
                        "\"2026-07-23T11:00:09Z\"}},\"lastState\":{},\"ready\":true,"
                        "\"restartCount\":0,\"image\":\"registry.example.com/shop/app:v1"
                        "\",\"imageID\":\"registry.example.com/shop/app@sha256:%016llx"
                        "%016llx%016llx%016llx\",\"containerID\":\"containerd://%016llx"
                        "%016llx%016llx%016llx\",\"started\":true}",
                        i ? "," : "", i, (unsigned long long)random_next(),
                        (unsigned long long)random_next(), (unsigned long long)random_next(),
                        (unsigned long long)random_next(), (unsigned long long)random_next(),
                        (unsigned long long)random_next(), (unsigned long long)random_next(),
                        (unsigned long long)random_next());
        (void)buf_puts(out, "],\"qosClass\":\"Burstable\"}");
}

static void put_pod(struct buf *out) {
        (void)buf_printf(out,
                         "{\"metadata\":{\"name\":\"web-7d9c5b-%05llx\",\"generateName\":"
                         "\"web-7d9c5b-\",\"namespace\":\"shop\",\"uid\":\"%016llx-%016llx\","
                         "\"resourceVersion\":\"%llu\",\"creationTimestamp\":"
                         "\"2026-07-23T11:00:00Z\",\"labels\":{\"app\":\"web\","
                         "\"pod-template-hash\":\"7d9c5b\"},\"ownerReferences\":[{\"apiVersion\":"
                         "\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"web-7d9c5b\",\"uid\":"
                         "\"6f0c7b0e-3a5d-4b1c-9d53-0a4f1f5f0b11\",\"controller\":true,"
                         "\"blockOwnerDeletion\":true}],",
                         (unsigned long long)random_next() & 0xfffff,
                         (unsigned long long)random_next(), (unsigned long long)random_next(),
                         (unsigned long long)random_next() >> 40);
        put_managed_fields(out);
        (void)buf_puts(out, "},\"spec\":{\"volumes\":[{\"name\":\"kube-api-access-x2x7k\","
                            "\"projected\":{\"sources\":[{\"serviceAccountToken\":{"
                            "\"expirationSeconds\":3607,\"path\":\"token\"}},{\"configMap\":{"
                            "\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":\"ca.crt\",\"path\":"
                            "\"ca.crt\"}]}}],\"defaultMode\":420}}],\"containers\":[");
        put_container(out, "app");
        (void)buf_putc(out, ',');
        put_container(out, "proxy");
        (void)buf_puts(out, "],\"restartPolicy\":\"Always\",\"nodeName\":\"ip-10-0-0-7\","
                            "\"schedulerName\":\"default-scheduler\",\"tolerations\":[{\"key\":"
                            "\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":"
                            "\"NoExecute\",\"tolerationSeconds\":300}],\"priority\":0},"
                            "\"status\":");
        put_status(out);
        (void)buf_putc(out, '}');
}

static struct buf pods[PODS];
static volatile size_t sink;

static void skim(size_t count) {
        struct pod_facts facts;

        for (size_t i = 0; i < count; i++)
                sink = sink +
                       (pod_facts_skim(&facts, pods[i].data, pods[i].len) ? facts.workload_len : 0);
}

static void parse(size_t count) {
        for (size_t i = 0; i < count; i++) {
                json_auto_t *pod = NULL;
                if (json_parse(pods[i].data, pods[i].len, &pod, NULL) == 0)
                        sink = sink + json_object_size(pod);
        }
}

static int compare_times(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return x < y ? -1 : x > y;
}

/* CPU time, since the machine may be busy with other things. */
static double cpu_s(void) {
        struct timespec ts = {0};

        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double median_s(void (*run)(size_t count), size_t count) {
        double once[ROUNDS];

        for (size_t i = 0; i < ROUNDS; i++) {
                double begin_s = cpu_s();
                run(count);
                once[i] = (cpu_s() - begin_s) / (double)count;
        }
        qsort(once, ROUNDS, sizeof(once[0]), compare_times);
        return once[ROUNDS / 2];
}

int main(void) {
        size_t bytes = 0;

        for (size_t i = 0; i < PODS; i++) {
                pods[i] = BUF_INIT(POD_MAX_BYTES);
                put_pod(&pods[i]);
                bytes += pods[i].len;
        }
        double skim_s = median_s(skim, PODS), parse_s = median_s(parse, JANSSON_PODS);
        (void)printf("%d pods of %.1f kB, CPU time, median of %d\n", PODS,
                     (double)bytes / PODS / 1e3, ROUNDS);
        (void)printf("  skim     %8.2f us/pod  %8.0f pods/s  %6.0f MB/s  %5.1f times as fast as "
                     "jansson's parse\n",
                     skim_s * 1e6, 1 / skim_s, (double)bytes / PODS / skim_s / 1e6,
                     parse_s / skim_s);
        (void)printf("  jansson  %8.2f us/pod  %8.0f pods/s\n", parse_s * 1e6, 1 / parse_s);
        (void)printf("  150,000 pods are skimmed in %.2f s\n", 150000 * skim_s);
        for (size_t i = 0; i < PODS; i++)
                buf_done(&pods[i]);
        return 0;
}
