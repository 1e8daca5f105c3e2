#include "extender/admission/admission_writer.h"

#include <stdio.h>

#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "extender/admission/admission_list.h"
#include "kube/kube_path.h"

enum {
        LOOK_MS = 1000,
        QUIET_MS = 10000,       /* between two writes while no pod is bound */
        LIST_BYTES = 128 << 10, /* the names are at most 253 bytes, and mostly 50 */
};

#define API_VERSION "plimsoll.io/v1alpha1"
#define LEASE_NAME "plimsoll-admission"

struct admission_writer {
        const struct daemon *daemon;
        struct node_table *table;
        struct admission_lister *lister;
        struct lease *lease;
        struct loop_timer timer;
        char *path;
        struct kube_call *call; /* NULL: none under way */
        struct buf classes;     /* the member as text */
        int64_t written_mono_ms;
        bool must_write;             /* pods were bound since the last write, or it leads now */
        char trouble[ERROR_MSG_MAX]; /* why the last write failed; "": it did not */
        struct health_check *check;
        struct metrics_series *failed, *sent;
};

static int64_t admission_now_mono_ms(const struct admission_writer *writer) {
        return loop_now_mono_ms(writer->daemon->loop);
}

/* Always passes: a list that is old, or missing, keeps no pod pending. */
static void show(const struct admission_writer *writer) {
        const char *trouble = lease_trouble(writer->lease), *holder = lease_leader(writer->lease);

        if (*trouble)
                health_pass(writer->check, "lease " LEASE_NAME ": %s", trouble);
        else if (writer->trouble[0])
                health_pass(writer->check, "the last write failed: %s", writer->trouble);
        else if (lease_is_leading(writer->lease))
                health_pass(writer->check, "this replica writes");
        else
                health_pass(writer->check, "%s writes", *holder ? holder : "nobody");
}

static void on_written(void *userdata, const struct kube_answer *answer) {
        struct admission_writer *writer = userdata;
        bool is_failing = answer->outcome != KUBE_OK, was_failing = writer->trouble[0];

        writer->call = NULL;
        writer->trouble[0] = '\0';
        metrics_inc(is_failing ? writer->failed : writer->sent);
        if (is_failing)
                (void)snprintf(writer->trouble, sizeof(writer->trouble), "%s",
                               answer->err.msg[0] ? answer->err.msg
                                                  : kube_outcome_name(answer->outcome));
        if (is_failing && !was_failing)
                log_warn(MSG("cannot write the preferred nodes"),
                         STR("reason", kube_outcome_name(answer->outcome)),
                         STR("error", writer->trouble), STR("see", "deploy/admission"));
        else if (!is_failing && was_failing)
                log_info(MSG("the preferred nodes are written again"));
}

static int64_t fence(const void *userdata) {
        const struct admission_writer *writer = userdata;

        return lease_until_mono_ms(writer->lease);
}

/* Server-side apply creates the object if it is missing. */
static void send(struct admission_writer *writer) {
        struct buf body = BUF_INIT(LIST_BYTES + 4096);

        json_write_object(&body, NULL);
        json_write_text(&body, "apiVersion", API_VERSION);
        json_write_text(&body, "kind", "PreferredNodes");
        json_write_object(&body, "metadata");
        json_write_text(&body, "name", "default");
        json_write_object_end(&body);
        json_write_time(&body, "writtenAt", loop_now_unix_ms(writer->daemon->loop));
        buf_putc(&body, ',');
        buf_append(&body, writer->classes.data, writer->classes.len);
        json_write_object_end(&body);
        writer->written_mono_ms = admission_now_mono_ms(writer);
        writer->must_write = false;
        writer->call = kube_start(writer->daemon->api,
                                  &(struct kube_request){
                                          .method = "PATCH",
                                          .path = writer->path,
                                          .resource = "preferrednodes",
                                          .content_type = "application/apply-patch+yaml",
                                          .body = body.data,
                                          .body_bytes = body.len,
                                          .timeout_ms = LOOK_MS * 5,
                                          .fence = {fence, writer},
                                          .on_done = on_written,
                                          .userdata = writer,
                                  });
        buf_done(&body);
}

static bool is_due(const struct admission_writer *writer) {
        bool is_quiet = writer->trouble[0] || !writer->must_write;

        return !writer->call && lease_is_leading(writer->lease) &&
               (!is_quiet || admission_now_mono_ms(writer) - writer->written_mono_ms >= QUIET_MS);
}

static void list_nodes(struct admission_writer *writer) {
        struct node_snapshot *snapshot = node_table_acquire(writer->table);
        struct admission_list list;

        buf_clear(&writer->classes);
        if (snapshot->nodes.count > 0) {
                admission_lister_make(writer->lister, snapshot,
                                      loop_now_unix_ms(writer->daemon->loop), &list);
                admission_list_write(&list, snapshot, &writer->classes);
        }
        node_snapshot_unref(snapshot);
}

static void admission_look(void *userdata) {
        struct admission_writer *writer = userdata;

        show(writer);
        if (is_due(writer)) {
                list_nodes(writer);
                if (writer->classes.len > 0 && !writer->classes.overflow)
                        send(writer);
        }
        loop_timer_arm(writer->daemon->loop, &writer->timer,
                       admission_now_mono_ms(writer) + LOOK_MS, admission_look, writer);
}

static void on_leading(void *userdata) {
        struct admission_writer *writer = userdata;

        writer->must_write = true;
        log_info(MSG("writing the preferred nodes"));
}

static void on_not_leading(void *userdata) {
        struct admission_writer *writer = userdata;

        kube_cancel(writer->call);
        writer->call = NULL;
        writer->trouble[0] = '\0';
}

static struct metrics_series *writes_counter(struct metrics *metrics, const char *result) {
        return metrics_counter(metrics, "plimsoll_extender_admission_writes_total",
                               "Writes of the nodes that new pods prefer, by result (--admission).",
                               LABELS("result", result));
}

struct admission_writer *admission_writer_new(const struct daemon *daemon, struct node_table *table,
                                              const char *namespace) {
        struct admission_writer *writer = xcalloc(1, sizeof(*writer));
        _cleanup_(freep) char *identity = lease_identity_new();

        writer->daemon = daemon;
        writer->table = table;
        writer->lister = admission_lister_new();
        writer->classes = BUF_INIT(LIST_BYTES);
        writer->path = kube_path("/apis/" API_VERSION, NULL, "preferrednodes", "default",
                                 "?force=true&fieldManager=plimsoll-extender");
        writer->sent = writes_counter(daemon->metrics, "sent");
        writer->failed = writes_counter(daemon->metrics, "failed");
        writer->check = health_add(daemon->health, "admission", "");
        writer->lease = lease_new(daemon->loop, daemon->api, daemon->metrics,
                                  &(struct lease_options){
                                          .namespace = namespace,
                                          .name = LEASE_NAME,
                                          .identity = identity,
                                          .timing = LEASE_TIMING_DEFAULT,
                                          .events = {on_leading, on_not_leading, writer},
                                  });
        admission_look(writer);
        return writer;
}

void admission_writer_free(struct admission_writer *writer) {
        if (!writer)
                return;
        loop_timer_disarm(writer->daemon->loop, &writer->timer);
        kube_cancel(writer->call);
        lease_free(writer->lease);
        admission_lister_free(writer->lister);
        buf_done(&writer->classes);
        free(writer->path);
        free(writer);
}

void admission_writer_release(struct admission_writer *writer, lease_released_fn *on_done,
                              void *userdata) {
        lease_release(writer->lease, on_done, userdata);
}

void admission_writer_bound(struct admission_writer *writer) {
        writer->must_write = true;
}
