#include "policy/pods/pod_workload.h"

#include <stdio.h>
#include <string.h>

/* The Job of a CronJob has the CronJob's name and the time of the run in minutes since the epoch.
 */
enum { JOB_TIME_MIN_DIGITS = 8 };
/* Owners that exist for a single run; no other run has the same name. */
static const char *const run_kinds[] = {
        "Workflow",        /* Argo Workflows */
        "TaskRun",         /* Tekton */
        "PipelineRun",     /* Tekton */
        "EphemeralRunner", /* jobs of GitHub Actions */
        "Build",           /* OpenShift */
        "Pod",             /* the driver of Spark executors */
};

static void cut_suffix(struct skim_string *name, const struct skim_string *suffix) {
        if (suffix->len == 0 || name->len < suffix->len + 2)
                return;
        size_t len = name->len - suffix->len - 1;
        if (name->text[len] == '-' && memcmp(name->text + len + 1, suffix->text, suffix->len) == 0)
                name->len = len;
}

static void cut_time(struct skim_string *name) {
        size_t len = name->len;

        while (len > 0 && name->text[len - 1] >= '0' && name->text[len - 1] <= '9')
                len--;
        bool is_time = name->len - len >= JOB_TIME_MIN_DIGITS && len >= 2 &&
                       name->text[len - 1] == '-';
        if (is_time)
                name->len = len - 1;
}

static bool is_run(const struct skim_string *kind) {
        for (size_t i = 0; i < ARRAY_LEN(run_kinds); i++)
                if (skim_is(kind, run_kinds[i]))
                        return true;
        return false;
}

static struct skim_string text_of(const char *text) {
        return (struct skim_string){.text = text, .len = strlen(text)};
}

/* "<namespace>/<kind>/<name>" */
static size_t join(const struct skim_string *namespace, const struct skim_string *kind,
                   const struct skim_string *name, char *ret) {
        char *at = ret;

        if (name->len == 0 || namespace->len == 0 || name->len > POD_FACTS_NAME_MAX ||
            namespace->len > POD_FACTS_NAMESPACE_MAX || kind->len > POD_FACTS_KIND_MAX)
                return 0;
        at = mempcpy(at, namespace->text, namespace->len);
        *at++ = '/';
        at = mempcpy(at, kind->text, kind->len);
        *at++ = '/';
        at = mempcpy(at, name->text, name->len);
        return (size_t)(at - ret);
}

void pod_workload_name(struct pod_facts *facts, struct skim_string kind, struct skim_string name,
                       const struct skim_string *revision) {
        char request[32];

        if (facts->is_mirror) {
                kind = text_of("Node");
                name = facts->name;
                cut_suffix(&name, &facts->node);
        } else if (skim_is(&kind, "ReplicaSet")) {
                cut_suffix(&name, revision);
        } else if (skim_is(&kind, "Job")) {
                cut_time(&name);
        } else if (is_run(&kind)) {
                (void)snprintf(request, sizeof(request), "%.0fm",
                               1000 * facts->request.of[ESTIMATE_CPU]);
                name = text_of(request);
        }
        facts->workload_len = join(&facts->namespace, &kind, &name, facts->workload);
}
