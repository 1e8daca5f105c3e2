#include "net/certificates.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "net/file_watch.h"

enum { LOOK_MS = 60 * 1000 };

struct certificates {
        struct certificates_options options;
        struct http_server *server;
        struct file_watch *watches[3];
        struct loop_timer reload, look;
        char *problem; /* of the last reload; NULL: it succeeded */
        bool was_invalid;

        struct health_check *check;
        struct metrics_series *reloads, *errors, *expiry;
};

static void show_certificate(struct certificates *certificates) {
        int64_t begins_unix_ms = 0, ends_unix_ms = 0;
        int64_t now_unix_ms = loop_now_unix_ms(certificates->options.loop);
        const char *path = certificates->options.files.cert_file;
        char ends[TIMESTAMP_MAX];

        http_server_certificate_validity(certificates->server, &begins_unix_ms, &ends_unix_ms);
        timestamp_format_s(ends_unix_ms, ends, sizeof(ends));
        metrics_set(certificates->expiry, (double)ends_unix_ms / (double)MS_PER_S);
        bool is_valid = begins_unix_ms <= now_unix_ms && now_unix_ms <= ends_unix_ms;
        if (!is_valid && !certificates->was_invalid)
                log_error(MSG("certificate is not valid now, clients will reject it"),
                          STR("file", path), STR("expires", ends));
        certificates->was_invalid = !is_valid;

        const char *state = is_valid ? "expires" : "NOT VALID NOW, expires";
        if (certificates->problem)
                health_pass(certificates->check, "%s %s; reload failed: %s", state, ends,
                            certificates->problem);
        else
                health_pass(certificates->check, "%s %s, %s", state, ends, path);
}

void certificates_reload(struct certificates *certificates) {
        const struct http_server_tls *files = &certificates->options.files;
        struct error err = ERROR_NULL;

        loop_timer_disarm(certificates->options.loop, &certificates->reload);
        if (http_server_set_tls(certificates->server, files, &err) < 0) {
                metrics_inc(certificates->errors);
                if (!certificates->problem || strcmp(certificates->problem, err.msg) != 0)
                        log_error(MSG("cannot reload certificates, keeping the current ones"),
                                  ERR(&err));
                free(certificates->problem);
                certificates->problem = xstrdup(err.msg);
        } else {
                free(TAKE_PTR(certificates->problem));
                metrics_inc(certificates->reloads);
                log_info(MSG("certificates reloaded"), STR("certificate", files->cert_file));
        }
        show_certificate(certificates);
}

static void reload_later(void *userdata) {
        certificates_reload(userdata);
}

/* On the next pass of the loop, after the watches of the other files: one reload for all changes.
 */
static void on_certificate_file(void *userdata, const char *path) {
        struct certificates *certificates = userdata;
        struct loop *loop = certificates->options.loop;

        (void)path;
        loop_timer_arm(loop, &certificates->reload, loop_now_mono_ms(loop), reload_later,
                       certificates);
}

static void look_at_certificate(void *userdata) {
        struct certificates *certificates = userdata;
        struct loop *loop = certificates->options.loop;

        loop_timer_arm(loop, &certificates->look, loop_now_mono_ms(loop) + LOOK_MS,
                       look_at_certificate, certificates);
        if (certificates->problem)
                certificates_reload(certificates);
        else
                show_certificate(certificates);
}

struct certificates *certificates_new(const struct certificates_options *options) {
        struct certificates *certificates = xcalloc(1, sizeof(*certificates));
        const char *paths[] = {options->files.cert_file, options->files.key_file,
                               options->files.client_ca_file};

        static_assert(ARRAY_LEN(paths) == ARRAY_LEN(certificates->watches), "a watch for each");
        certificates->options = *options;
        certificates->check = health_add(options->health, "certificate", "not loaded yet");
        certificates->reloads = metrics_counter(options->metrics, "plimsoll_tls_reloads_total",
                                                "Reloads of certificate, key and client CA.", NULL);
        certificates->errors = metrics_counter(options->metrics, "plimsoll_tls_reload_errors_total",
                                               "Failed reloads of certificate, key and client CA; "
                                               "the previous ones stayed in use.",
                                               NULL);
        certificates->expiry = metrics_gauge(options->metrics,
                                             "plimsoll_tls_certificate_expiry_timestamp_seconds",
                                             "Expiry time of the certificate in use.", NULL);
        for (size_t i = 0; i < ARRAY_LEN(paths); i++)
                if (paths[i])
                        certificates->watches[i] = file_watch_new(
                                options->loop, paths[i], on_certificate_file, certificates);
        return certificates;
}

void certificates_serve(struct certificates *certificates, struct http_server *server) {
        certificates->server = server;
        look_at_certificate(certificates);
}

void certificates_free(struct certificates *certificates) {
        if (!certificates)
                return;
        for (size_t i = 0; i < ARRAY_LEN(certificates->watches); i++)
                file_watch_free(certificates->watches[i]);
        loop_timer_disarm(certificates->options.loop, &certificates->reload);
        loop_timer_disarm(certificates->options.loop, &certificates->look);
        free(certificates->problem);
        free(certificates);
}
