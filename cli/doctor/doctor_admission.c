/* Steering by admission, where deploy/admission is applied. */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "cli/doctor/doctor_report.h"
#include "codec/json.h"

enum { MINOR_OLDEST = 36, LIST_MAX_AGE_MS = MS_PER_MIN };

static void check_list(struct doctor_report *report) {
        const struct doctor_facts *facts = report->facts;
        const char *written = json_string_at(facts->objects[DOCTOR_ADMISSION_LIST].json,
                                             "writtenAt", NULL);
        int64_t written_unix_ms = 0;
        bool is_old = written && (!timestamp_parse(written, strlen(written), &written_unix_ms) ||
                                  facts->now_unix_ms - written_unix_ms > LIST_MAX_AGE_MS);

        doctor_check(report, "admission-list", doctor_if(!written || is_old, DOCTOR_FAULT),
                     "after a minute, new pods prefer no nodes",
                     "no extender has written PreferredNodes default since %.40s",
                     written ? written : "it was created");
        doctor_fix(report,
                   "run the extender with --admission, and apply deploy/admission/rbac.yaml; "
                   "kubectl -n %s logs deploy/plimsoll-extender says what fails",
                   facts->namespace);
}

void doctor_check_admission(struct doctor_report *report) {
        static const struct {
                enum doctor_object object;
                const char *name;
        } objects[] = {{DOCTOR_ADMISSION_KIND, "kind PreferredNodes"},
                       {DOCTOR_ADMISSION_POLICY, "MutatingAdmissionPolicy plimsoll-admission"},
                       {DOCTOR_ADMISSION_BINDING, "binding of plimsoll-admission"}};
        const struct doctor_facts *facts = report->facts;
        unsigned minor = doctor_minor(facts);
        const char *lacking = NULL;

        if (!doctor_has(facts, DOCTOR_ADMISSION_KIND) &&
            !doctor_has(facts, DOCTOR_ADMISSION_POLICY))
                return;
        for (size_t i = 0; i < ARRAY_LEN(objects); i++)
                if (!lacking && doctor_lacks(facts, objects[i].object))
                        lacking = objects[i].name;
        doctor_check(report, "admission-version", doctor_if(minor < MINOR_OLDEST, DOCTOR_FAULT),
                     "new pods prefer no node", "Kubernetes 1.%u has no MutatingAdmissionPolicy v1",
                     minor);
        doctor_fix(report, "upgrade the cluster to 1.36, or see docs/without-the-scheduler.md");
        if (minor < MINOR_OLDEST)
                return;
        doctor_check(report, "admission-policy", doctor_if(lacking, DOCTOR_FAULT),
                     "new pods prefer no node", "the cluster has no %s", lacking ? lacking : "");
        doctor_fix(report, "kubectl apply -k deploy/admission");
        if (doctor_has(facts, DOCTOR_ADMISSION_NAMESPACES)) {
                doctor_check(report, "admission-namespaces",
                             doctor_if(json_array_size(doctor_items(
                                               facts, DOCTOR_ADMISSION_NAMESPACES)) == 0,
                                       DOCTOR_WARNING),
                             "pods elsewhere stay as they are",
                             "no namespace has the label plimsoll.io/admission=enabled");
                doctor_fix(report, "kubectl label namespace NAME plimsoll.io/admission=enabled");
        }
        doctor_about(report, DOCTOR_EXTENDER);
        if (doctor_has(facts, DOCTOR_ADMISSION_LIST) || doctor_lacks(facts, DOCTOR_ADMISSION_LIST))
                check_list(report);
        doctor_about(report, 0);
}
