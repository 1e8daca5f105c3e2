#include "cli/doctor/doctor_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/name.h"
#include "base/number.h"
#include "base/timestamp.h"
#include "codec/json.h"

enum { TEXT_MAX_BYTES = 4096, STARTING_MAX_MS = 3 * MS_PER_MIN };

/* ---- Findings. */

void doctor_find(struct doctor_finding *finding, enum doctor_state state, const char *fmt, ...) {
        va_list args;

        finding->state = state;
        va_start(args, fmt);
        (void)vsnprintf(finding->what, sizeof(finding->what), fmt, args);
        va_end(args);
        for (char *at = finding->what; *at; at++)
                if (*at < ' ' || *at > '~')
                        *at = '?';
}

/* People copy fixes into a shell. */
static bool is_name(const char *text) {
        return text && !text[strspn(text, NAME_LOWER "-.")];
}

void doctor_name(struct doctor_finding *finding, const char *subject) {
        if (is_name(subject))
                (void)snprintf(finding->subject, sizeof(finding->subject), "%s", subject);
}

/* The release of Helm that an object belongs to; borrowed, NULL: none. */
static const char *release_of(const struct doctor_facts *facts) {
        static const enum doctor_object ours[] = {DOCTOR_CONTROLLER, DOCTOR_EXTENDER,
                                                  DOCTOR_SCHEDULER, DOCTOR_SERVICE};

        for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
                const char *release = json_string_at(facts->objects[ours[i]].json, "metadata",
                                                     "annotations", "meta.helm.sh/release-name",
                                                     NULL);
                if (is_name(release))
                        return release;
        }
        return NULL;
}

/* An object that kubectl has changed makes the next upgrade of Helm 4 fail. */
static void put_update(const struct doctor_facts *facts, const struct doctor_finding *finding,
                       struct buf *out) {
        const struct doctor_check *check = finding->check;
        const char *release = release_of(facts);
        _cleanup_(freep) char *kubectl = doctor_text(facts, finding, check->kubectl);

        if (!release)
                buf_printf(out, "kubectl %s", kubectl);
        else
                buf_printf(out, "helm upgrade %s deploy/chart -n %s --reset-then-reuse-values%s%s",
                           release, facts->namespace, check->values ? " --set " : "",
                           check->values ? check->values : "");
}

char *doctor_text(const struct doctor_facts *facts, const struct doctor_finding *finding,
                  const char *text) {
        struct buf out = BUF_INIT(TEXT_MAX_BYTES);
        const char *subject = finding->subject[0] ? finding->subject : "NAME";

        for (const char *there; (there = strchr(text, '@')) != NULL; text = there) {
                buf_append(&out, text, (size_t)(there - text));
                if (strncmp(there, "@UP", strlen("@UP")) == 0)
                        put_update(facts, finding, &out);
                else
                        buf_puts(&out, strncmp(there, "@NS", strlen("@NS")) == 0 ? facts->namespace
                                                                                 : subject);
                there += strlen("@NS");
        }
        buf_puts(&out, text);
        return buf_take(&out);
}

/* ---- What checks need. */

bool doctor_needs(const struct doctor_facts *facts, enum doctor_object object,
                  struct doctor_finding *finding) {
        const struct doctor_fact *fact = &facts->objects[object];

        if (fact->outcome == KUBE_OK)
                return true;
        finding->is_unread = fact->outcome != KUBE_NOT_FOUND;
        if (finding->is_unread)
                doctor_find(finding, DOCTOR_UNKNOWN, "%s", fact->err.msg);
        else
                doctor_find(finding, DOCTOR_OK, "nothing to check");
        return false;
}

bool doctor_needs_count(const struct doctor_facts *facts, struct doctor_finding *finding) {
        return facts->nodes.count > 0 || doctor_needs(facts, DOCTOR_NODES, finding);
}

bool doctor_needs_places(const struct doctor_facts *facts, struct doctor_finding *finding) {
        static const enum doctor_object where[] = {DOCTOR_EXTENDER, DOCTOR_SCHEDULER,
                                                   DOCTOR_SERVICE};

        for (size_t i = 0; i < ARRAY_LEN(where); i++)
                if (doctor_is_hidden(facts, where[i]))
                        return doctor_needs(facts, where[i], finding);
        return true;
}

/* Could a page of that program be read? */
static bool doctor_needs_page(const struct doctor_facts *facts, enum doctor_object program,
                              struct doctor_finding *finding) {
        const struct doctor_page *failed = NULL;

        for (size_t i = 0; i < facts->page_count; i++) {
                const struct doctor_page *page = &facts->pages[i];
                if (page->program == program && page->text)
                        return true;
                if (page->program == program)
                        failed = page;
        }
        doctor_find(finding, DOCTOR_UNKNOWN, "%s",
                    failed ? failed->err.msg
                    : doctor_is_hidden(facts, DOCTOR_PODS)
                            ? facts->objects[DOCTOR_PODS].err.msg
                            : "no pod of the program runs in the namespace");
        return false;
}

bool doctor_needs_entry(const struct doctor_facts *facts, struct doctor_finding *finding) {
        if (!facts->config)
                doctor_find(finding, DOCTOR_UNKNOWN, "%s",
                            doctor_is_hidden(facts, DOCTOR_CONFIG_MAPS)
                                    ? facts->objects[DOCTOR_CONFIG_MAPS].err.msg
                                    : "no ConfigMap has a scheduler's configuration that names "
                                      "the extender; set --scheduler-config");
        return facts->config && facts->config->entry;
}

bool doctor_is_there(const struct doctor_facts *facts, enum doctor_object object,
                     enum doctor_state state, const char *what, struct doctor_finding *finding) {
        _cleanup_(freep) char *text = doctor_text(facts, finding, what);

        if (!doctor_lacks(facts, object))
                return doctor_needs(facts, object, finding);
        doctor_find(finding, state, "%s", text);
        return false;
}

void doctor_check_there(const struct doctor_facts *facts, struct doctor_finding *finding) {
        const struct doctor_check *check = finding->check;

        (void)doctor_is_there(facts, check->object, check->state, check->what, finding);
}

bool doctor_needs_flags(const struct doctor_flags *flags, struct doctor_finding *finding) {
        if (!flags->values)
                doctor_find(finding, DOCTOR_UNKNOWN, "%s", flags->err.msg);
        return flags->values;
}

unsigned doctor_minor(const struct doctor_facts *facts) {
        const char *minor = json_string_at(facts->objects[DOCTOR_VERSION].json, "minor", NULL);
        size_t digits = minor ? number_skip_digits(minor, strlen(minor), 0) : 0;
        uint64_t number = 0;

        /* "36+": vendors append text. */
        return minor && number_parse_u64(minor, digits, &number) && number < 1000 ? (unsigned)number
                                                                                  : 0;
}

/* ---- Running them. */

/* The age of the program's oldest pod. A container that is restarted again and again does not make
 * its pod younger. Far from 0 if it is unknown. */
static int64_t age_ms(const struct doctor_facts *facts, const char *program) {
        const json_t *pods = json_at(facts->objects[DOCTOR_PODS].json, "items", NULL);
        int64_t oldest_unix_ms = INT64_MAX;

        for (size_t i = 0; i < json_array_size(pods); i++) {
                const json_t *metadata = json_at(json_array_get(pods, i), "metadata", NULL);
                const char *created = json_string_at(metadata, "creationTimestamp", NULL);
                int64_t created_unix_ms;
                if (!json_is_at(program, metadata, "labels", "app.kubernetes.io/name", NULL))
                        continue;
                if (!created || !timestamp_parse(created, strlen(created), &created_unix_ms))
                        return INT64_MAX;
                if (created_unix_ms < oldest_unix_ms)
                        oldest_unix_ms = created_unix_ms;
        }
        return facts->now_unix_ms - oldest_unix_ms;
}

/* The program that a check asks; 0: none. */
static enum doctor_object program_of(const struct doctor_check *check) {
        bool needs_program = check->needs == DOCTOR_CONTROLLER || check->needs == DOCTOR_EXTENDER;

        return check->settles      ? check->settles
               : check->needs_page ? check->needs_page
               : needs_program     ? check->needs
                                   : 0;
}

/* Until a replica is ready, a program cannot be asked. After that, what is unknown stays so, and
 * warnings are about something that waiting does not change, such as too few replicas. */
static bool is_usual(const struct doctor_finding *finding, bool is_ready) {
        if (finding->state == DOCTOR_UNKNOWN)
                return !is_ready && !finding->is_unread;
        return finding->check->settles && (finding->state == DOCTOR_FAULT || !is_ready);
}

static void find_start(const struct doctor_facts *facts, struct doctor_finding *finding) {
        enum doctor_object deployment = program_of(finding->check);
        const char *program = deployment == DOCTOR_CONTROLLER ? PROGRAM_CONTROLLER
                                                              : PROGRAM_EXTENDER;
        int64_t created_ms = age_ms(facts, program);
        long long ready = json_int_at(0, facts->objects[deployment].json, "status", "readyReplicas",
                                      NULL);

        if (deployment == 0 || created_ms > STARTING_MAX_MS || created_ms < -STARTING_MAX_MS ||
            !is_usual(finding, ready > 0))
                return;
        doctor_find(finding, DOCTOR_WAIT, "%s is starting: its pods were created %lld s ago",
                    program, (long long)(created_ms > 0 ? created_ms / MS_PER_S : 0));
        finding->fix = "kubectl plimsoll doctor --wait=5m";
}

void doctor_check_run(const struct doctor_check *check, const struct doctor_facts *facts,
                      struct doctor_finding *ret) {
        *ret = (struct doctor_finding){.check = check};
        if (doctor_needs(facts, check->needs, ret) &&
            (!check->needs_page || doctor_needs_page(facts, check->needs_page, ret)) &&
            (!check->needs_entry || doctor_needs_entry(facts, ret)))
                check->fn(facts, ret);
        if (ret->state != DOCTOR_OK)
                find_start(facts, ret);
}
