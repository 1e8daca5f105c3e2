#include "net/http_client.h"

#include <assert.h>
#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/strmap.h"
#include "net/ca_bundle.h"
#include "net/http_call.h"

enum {
        DEFAULT_MAX_IN_FLIGHT = 128,
        SHARDS = 64,               /* 6 kB each, enough for 30,000 hosts */
        SHARD_DESCRIPTORS = 2,     /* of curl itself */
        SHARD_CONNECTIONS = 4096,  /* without a limit of descriptors: more than a shard has hosts */
        SHARD_CONNECTIONS_MIN = 4, /* however low the limit is */
        SHARD_IDLE_MS = 120000,    /* curl does not use a connection that was idle for 118 s */
};

struct http_shard {
        struct http_client *client;
        CURLM *multi;
        struct loop_timer timer; /* set by curl, see on_curl_timer() */
        size_t call_count;       /* queued and active */
        struct loop_timer idle;  /* armed while there is no call */
        struct http_shard **place;
};

TAILQ_HEAD(call_list, http_call);

struct http_client {
        struct loop *loop;
        char *user_agent, *ca_bundle;
        size_t max_in_flight, max_descriptors;
        struct call_list queue;  /* first in, first out */
        struct call_list active; /* at most max_in_flight */
        size_t queue_len, active_len;
        struct http_shard *shards[SHARDS]; /* NULL until a call needs it */
        struct loop_timer pump_timer;
        struct body_pool bodies;
        struct http_tls_copy *last_tls;
        CURL **easies; /* idle handles */
        size_t easies_len, easies_cap;
        bool is_inside_curl; /* curl must not be called recursively */
        bool has_doomed;     /* calls were cancelled while inside curl */
};

/* Easy handles are reused: creating one costs as much as a scrape. */

static CURL *take_easy(struct http_client *client) {
        if (client->easies_len > 0)
                return client->easies[--client->easies_len];

        CURL *easy = curl_easy_init();
        if (!easy)
                mem_exhausted();
        return easy;
}

static void give_back_easy(struct http_client *client, CURL *easy) {
        if (client->easies_len >= client->max_in_flight) {
                curl_easy_cleanup(easy);
                return;
        }
        curl_easy_reset(easy);
        mem_grow(&client->easies, client->easies_len, &client->easies_cap);
        client->easies[client->easies_len++] = easy;
}

/* The end of a call */

static void start_queued_calls(void *userdata);

static void start_queued_soon(struct http_client *client) {
        if (!loop_timer_is_armed(&client->pump_timer))
                loop_timer_arm(client->loop, &client->pump_timer, loop_now_mono_ms(client->loop),
                               start_queued_calls, client);
}

/* Removes an active call from curl. Only outside of curl. */
static void detach_call(struct http_call *call) {
        struct http_client *client = call->client;

        loop_timer_disarm(client->loop, &call->timer);
        (void)curl_multi_remove_handle(call->shard->multi, call->easy);
        give_back_easy(client, TAKE_PTR(call->easy));
        TAILQ_REMOVE(&client->active, call, entry);
        client->active_len--;
        if (!TAILQ_EMPTY(&client->queue))
                start_queued_soon(client);
}

/* Closes its idle connections, such as one to a node that has gone. curl closes an old one only at
 * the next call of the same multi handle, which may never come. */
static void shard_free(void *shard_) {
        struct http_shard *shard = shard_;

        *shard->place = NULL;
        (void)curl_multi_cleanup(shard->multi);
        loop_timer_disarm(shard->client->loop, &shard->timer);
        loop_timer_disarm(shard->client->loop, &shard->idle);
        free(shard);
}

static void drop_call(struct http_call *call) {
        struct http_shard *shard = call->shard;

        http_call_free(call);
        if (--shard->call_count == 0)
                loop_timer_arm(shard->client->loop, &shard->idle, clock_mono_ms() + SHARD_IDLE_MS,
                               shard_free, shard);
}

static void end_http_call(struct http_call *call, CURLcode code) {
        struct http_response response;

        http_call_result(call, code, &response);
        detach_call(call);
        call->state = HTTP_CALL_DONE;
        call->request.on_done(call->request.userdata, &response);
        drop_call(call);
}

static void remove_doomed(struct http_client *client) {
        struct http_call *call = NULL, *next = NULL;

        for (call = TAILQ_FIRST(&client->active); call; call = next) {
                next = TAILQ_NEXT(call, entry);
                if (call->state == HTTP_CALL_DOOMED) {
                        detach_call(call);
                        drop_call(call);
                }
        }
}

void http_cancel(struct http_call *call) {
        if (!call)
                return;

        struct http_client *client = call->client;
        switch (call->state) {
        case HTTP_CALL_QUEUED:
                TAILQ_REMOVE(&client->queue, call, entry);
                client->queue_len--;
                drop_call(call);
                break;
        case HTTP_CALL_ACTIVE:
                if (client->is_inside_curl) {
                        call->state = HTTP_CALL_DOOMED;
                        client->has_doomed = true;
                } else {
                        detach_call(call);
                        drop_call(call);
                }
                break;
        case HTTP_CALL_DOOMED:
        case HTTP_CALL_DONE:
                break;
        }
}

void http_client_free(struct http_client *client) {
        if (!client)
                return;

        assert(!client->is_inside_curl);
        while (!TAILQ_EMPTY(&client->queue))
                http_cancel(TAILQ_FIRST(&client->queue));
        while (!TAILQ_EMPTY(&client->active))
                http_cancel(TAILQ_FIRST(&client->active));
        loop_timer_disarm(client->loop, &client->pump_timer);
        for (size_t i = 0; i < SHARDS; i++)
                if (client->shards[i])
                        shard_free(client->shards[i]);
        while (client->easies_len > 0)
                curl_easy_cleanup(client->easies[--client->easies_len]);
        free(client->easies);
        body_pool_done(&client->bodies);
        http_tls_copy_unref(client->last_tls);
        free(client->user_agent);
        free(client->ca_bundle);
        free(client);
}

/* curl and the loop */

/* After curl returned: frees cancelled calls, and finishes completed ones. */
static void after_curl(struct http_shard *shard) {
        struct http_client *client = shard->client;
        int left = 0;

        if (client->has_doomed) {
                client->has_doomed = false;
                remove_doomed(client);
        }
        for (CURLMsg *message; (message = curl_multi_info_read(shard->multi, &left)) != NULL;) {
                struct http_call *call = NULL;
                assert(message->msg == CURLMSG_DONE); /* there is no other */
                CURLcode code = message->data.result; /* end_http_call() invalidates the message */
                (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
                end_http_call(call, code);
        }
}

static void run_curl(struct http_shard *shard, curl_socket_t fd, int what) {
        struct http_client *client = shard->client;
        int running = 0;

        client->is_inside_curl = true;
        /* curl 7.88 divides by zero if it is called again after that. */
        if (curl_multi_socket_action(shard->multi, fd, what, &running) == CURLM_OUT_OF_MEMORY)
                mem_exhausted();
        client->is_inside_curl = false;
        after_curl(shard);
}

static void on_fd(void *userdata, int fd, uint32_t epoll_events) {
        int what = 0;

        if (epoll_events & (EPOLLIN | EPOLLHUP))
                what |= CURL_CSELECT_IN;
        if (epoll_events & EPOLLOUT)
                what |= CURL_CSELECT_OUT;
        if (epoll_events & EPOLLERR)
                what |= CURL_CSELECT_ERR;
        run_curl(userdata, fd, what);
}

static void on_shard_timer(void *userdata) {
        run_curl(userdata, CURL_SOCKET_TIMEOUT, 0);
}

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *userdata, void *per_fd) {
        struct http_shard *shard = userdata;
        struct loop *loop = shard->client->loop;

        (void)easy;
        (void)per_fd;
        if (what == CURL_POLL_REMOVE)
                loop_fd_remove(loop, fd);
        else
                loop_fd_set(loop, fd,
                            (what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0) |
                                    (what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0),
                            on_fd, shard);
        return 0;
}

static int on_curl_timer(CURLM *multi, long timeout_ms, void *userdata) {
        struct http_shard *shard = userdata;
        struct loop *loop = shard->client->loop;

        (void)multi;
        if (timeout_ms < 0)
                loop_timer_disarm(loop, &shard->timer);
        else
                loop_timer_arm(loop, &shard->timer, clock_mono_ms() + timeout_ms, on_shard_timer,
                               shard);
        return 0;
}

/* The beginning of a call */

/* We keep the time limit of a call, not curl, whose clock stands still while the machine is
 * suspended. */
static void on_call_timer(void *userdata) {
        struct http_call *call = userdata;

        (void)snprintf(call->curl_message, sizeof(call->curl_message),
                       "not finished after %lld ms, %zu bytes received",
                       (long long)call->request.timeout_ms, call->received_bytes);
        end_http_call(call, CURLE_OPERATION_TIMEDOUT);
}

static void start_call(struct http_call *call) {
        struct http_client *client = call->client;

        TAILQ_REMOVE(&client->queue, call, entry);
        client->queue_len--;
        call->bodies = &client->bodies;
        call->easy = take_easy(client);
        call->started_mono_ms = clock_mono_ms();

        CURLcode code = http_call_configure(call, client->user_agent, client->ca_bundle);
        if (code == CURLE_OUT_OF_MEMORY)
                mem_exhausted();
        if (call->request.end_mono_ms > 0) { /* it may have been queued for a long time */
                int64_t left_ms = call->request.end_mono_ms - call->started_mono_ms;
                if (left_ms < call->request.timeout_ms)
                        call->request.timeout_ms = left_ms;
                if (left_ms <= 0)
                        code = CURLE_ABORTED_BY_CALLBACK; /* as by on_ready_to_send() */
        }
        TAILQ_INSERT_TAIL(&client->active, call, entry);
        client->active_len++;
        call->state = HTTP_CALL_ACTIVE;
        if (code == CURLE_OK) {
                if (curl_multi_add_handle(call->shard->multi, call->easy) != CURLM_OK)
                        mem_exhausted();
                loop_timer_arm(client->loop, &call->timer,
                               call->started_mono_ms + call->request.timeout_ms, on_call_timer,
                               call);
        } else {
                end_http_call(call, code);
        }
}

/* Starts each queued call at most once per pass of the loop: a call that fails at once, and is
 * restarted by its owner, does not block the loop. */
static void start_queued_calls(void *userdata) {
        struct http_client *client = userdata;
        size_t count = client->queue_len;

        while (count-- > 0 && !TAILQ_EMPTY(&client->queue) &&
               client->active_len < client->max_in_flight)
                start_call(TAILQ_FIRST(&client->queue));
}

/* The number of idle connections that a shard keeps. */
static size_t max_connections(const struct http_client *client) {
        size_t used = client->max_in_flight + (size_t)SHARD_DESCRIPTORS * SHARDS;

        if (client->max_descriptors == 0)
                return SHARD_CONNECTIONS;
        if (client->max_descriptors <= used)
                return SHARD_CONNECTIONS_MIN;
        return size_max((client->max_descriptors - used) / SHARDS, SHARD_CONNECTIONS_MIN);
}

static void limit_connections(const struct http_client *client, struct http_shard *shard) {
        if (curl_multi_setopt(shard->multi, CURLMOPT_MAXCONNECTS, (long)max_connections(client)))
                mem_exhausted();
}

static struct http_shard *shard_new(struct http_client *client, struct http_shard **place) {
        struct http_shard *shard = xcalloc(1, sizeof(*shard));

        shard->client = client;
        shard->place = place;
        shard->multi = curl_multi_init();
        if (!shard->multi ||
            curl_multi_setopt(shard->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket) ||
            curl_multi_setopt(shard->multi, CURLMOPT_SOCKETDATA, shard) ||
            curl_multi_setopt(shard->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer) ||
            curl_multi_setopt(shard->multi, CURLMOPT_TIMERDATA, shard))
                mem_exhausted();
        limit_connections(client, shard);
        return shard;
}

static struct http_shard *choose_shard(struct http_client *client,
                                       const struct http_request *request) {
        const char *authority = NULL;
        size_t authority_len = http_call_authority(request->url, &authority);
        size_t index = request->has_phase ? (size_t)(request->phase_ratio * SHARDS)
                                          : strmap_hash(authority, authority_len);
        struct http_shard **shard = &client->shards[index % SHARDS];

        if (!*shard)
                *shard = shard_new(client, shard);
        return *shard;
}

void http_client_allow(struct http_client *client, size_t max_in_flight) {
        assert(!client->is_inside_curl);

        if (max_in_flight <= client->max_in_flight)
                return;
        client->max_in_flight = max_in_flight;
        for (size_t i = 0; i < SHARDS; i++)
                if (client->shards[i])
                        limit_connections(client, client->shards[i]);
}

struct http_call *http_start(struct http_client *client, const struct http_request *request) {
        struct http_call *call = http_call_new(request, client->last_tls);
        call->client = client;
        if (call->tls && call->tls != client->last_tls) {
                http_tls_copy_unref(client->last_tls);
                client->last_tls = call->tls;
                client->last_tls->refs++;
        }
        call->shard = choose_shard(client, request);
        if (call->shard->call_count++ == 0)
                loop_timer_disarm(client->loop, &call->shard->idle);
        call->state = HTTP_CALL_QUEUED;
        TAILQ_INSERT_TAIL(&client->queue, call, entry);
        client->queue_len++;
        /* At the limit, the end of a call starts the next one. */
        if (client->active_len < client->max_in_flight)
                start_queued_soon(client);
        return call;
}

static void init_curl(void) {
        /* Never undone: other parts of the process can use OpenSSL until the end. */
        if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
                mem_exhausted();
}

struct http_client *http_client_new(struct loop *loop, const struct http_client_options *options) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        struct http_client *client = xcalloc(1, sizeof(*client));

        pthread_once(&once, init_curl);
        client->loop = loop;
        client->user_agent = xstrdup_or_null(options->user_agent);
        client->ca_bundle = xstrdup_or_null(
                ca_bundle_find(getenv("SSL_CERT_FILE"), ca_bundle_paths));
        client->max_in_flight = options->max_in_flight > 0 ? options->max_in_flight
                                                           : DEFAULT_MAX_IN_FLIGHT;
        client->max_descriptors = options->max_descriptors;
        TAILQ_INIT(&client->queue);
        TAILQ_INIT(&client->active);
        body_pool_init(&client->bodies, SIZE_MAX, BODY_FIRST_BYTES + BODY_PADDING);
        return client;
}
