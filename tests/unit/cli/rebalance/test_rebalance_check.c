/* What speaks against an eviction. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "cli/rebalance/rebalance_check.h"
#include "codec/json.h"

/* @text: JSON with ' for " */
static json_t *parse(const char *text) {
        _cleanup_(freep) char *quoted = xstrdup(text);
        struct error err = ERROR_NULL;
        json_t *json = NULL;

        for (char *at = quoted; *at; at++)
                *at = *at == '\'' ? '"' : *at;
        if (json_parse(quoted, strlen(quoted), &json, &err) < 0)
                fail_msg("%s: %s", text, err.msg);
        return json;
}

static void expect(const char *text, const char *why, const char *expected) {
        if (strcmp(why ? why : "", expected ? expected : "") != 0)
                fail_msg("%s: %s", text, why ? why : "nothing");
}

#define STORAGE "it has storage"
#define TIED "it is tied to certain nodes"
#define FORBIDDEN "an annotation forbids it"
#define AFFINE "it has required affinity to pods"
#define SPREAD "it has a topologySpreadConstraint with DoNotSchedule"
#define PORT "it has a hostPort"
#define DEVICES "it requests more than CPU and memory"

#define REQUIRED "'requiredDuringSchedulingIgnoredDuringExecution'"
#define PREFERRED "'preferredDuringSchedulingIgnoredDuringExecution'"
#define SPEC(words) "{'spec': {" words "}}"
#define ANNOTATION(words) "{'metadata': {'annotations': {" words "}}}"
#define RESOURCES(words) SPEC("'containers': [{'name': 'a'}, {'resources': {" words "}}]")

TEST(pods) {
        static const struct {
                const char *pod, *why;
        } rows[] = {
                {"{}", NULL},
                {"[1]", NULL},
                {"{'metadata': {'deletionTimestamp': 'now'}}", "it is terminating"},
                {SPEC("'schedulingGroup': {'podGroupName': 'a'}"), "it belongs to a PodGroup"},
                {SPEC("'volumes': [{'configMap': {}}, {'emptyDir': {}}]"), STORAGE},
                {SPEC("'volumes': [{'hostPath': {}}]"), STORAGE},
                {SPEC("'volumes': [{'persistentVolumeClaim': {}}]"), STORAGE},
                {SPEC("'volumes': [{'ephemeral': {}}]"), STORAGE},
                {SPEC("'volumes': [{'configMap': {}}, {'projected': {}}, 3]"), NULL},
                {SPEC("'nodeSelector': {'disk': 'ssd'}"), TIED},
                {SPEC("'nodeSelector': {}"), NULL},
                {SPEC("'affinity': {'nodeAffinity': {" REQUIRED ": {}}}"), TIED},
                {SPEC("'affinity': {'nodeAffinity': {" PREFERRED ": [{}]}}"), NULL},
                {SPEC("'resourceClaims': [{'name': 'gpu'}]"), TIED},
                {SPEC("'affinity': {'podAntiAffinity': {" REQUIRED ": [{}]}}"), AFFINE},
                {SPEC("'affinity': {'podAffinity': {" REQUIRED ": [{}]}}"), AFFINE},
                {SPEC("'affinity': {'podAntiAffinity': {" REQUIRED ": [], " PREFERRED ": [{}]}}"),
                 NULL},
                {SPEC("'topologySpreadConstraints': [{'whenUnsatisfiable': 'ScheduleAnyway'}]"),
                 NULL},
                {SPEC("'topologySpreadConstraints': [{'whenUnsatisfiable': 'ScheduleAnyway'}, "
                      "{'whenUnsatisfiable': 'DoNotSchedule'}]"),
                 SPREAD},
                {SPEC("'containers': [{'ports': [{'containerPort': 80}]}]"), NULL},
                {SPEC("'containers': [{'ports': [{'containerPort': 80}, {'hostPort': 80}]}]"),
                 PORT},
                {SPEC("'initContainers': [{}, {'ports': [{'hostPort': 9}]}]"), PORT},
                {RESOURCES("'requests': {'cpu': '1', 'memory': '1', 'ephemeral-storage': '1'}"),
                 NULL},
                {RESOURCES("'requests': {'cpu': '1', 'hugepages-2Mi': '1'}"), DEVICES},
                {RESOURCES("'limits': {'example.com/gpu': '1'}"), DEVICES},
                {ANNOTATION("'karpenter.sh/do-not-disrupt': 'true'"), FORBIDDEN},
                {ANNOTATION("'karpenter.sh/do-not-disrupt': '30m'"), FORBIDDEN},
                {ANNOTATION("'karpenter.sh/do-not-disrupt': 'false'"), NULL},
                {ANNOTATION("'karpenter.sh/do-not-evict': 'true'"), FORBIDDEN},
                {ANNOTATION("'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false'"),
                 FORBIDDEN},
                {ANNOTATION("'cluster-autoscaler.kubernetes.io/safe-to-evict': 'true'"), NULL},
                {ANNOTATION("'descheduler.alpha.kubernetes.io/prefer-no-eviction': ''"), FORBIDDEN},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                json_auto_t *pod = parse(rows[i].pod);
                expect(rows[i].pod, rebalance_check_pod(pod), rows[i].why);
        }
}

TEST(owners) {
        static const struct {
                const char *owner, *why;
        } rows[] = {
                {"{'spec': {'replicas': 3}, 'status': {'readyReplicas': 3}}", NULL},
                {"{'spec': {'replicas': 1}, 'status': {'readyReplicas': 1}}",
                 "its controller wants one replica"},
                {"{'spec': {'replicas': '3'}, 'status': {'readyReplicas': [3]}}",
                 "its controller wants one replica"},
                {"{'spec': {'replicas': 3}, 'status': {'readyReplicas': 2}}",
                 "not all replicas are ready"},
                {"{'spec': {'replicas': 3}}", "not all replicas are ready"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                json_auto_t *owner = parse(rows[i].owner);
                expect(rows[i].owner, rebalance_check_owner(owner), rows[i].why);
        }
}
