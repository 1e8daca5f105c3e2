#include "extender/explain/explain_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/timestamp.h"

static int refuse(const char *key, const char *expected, struct error *err) {
        return error_set(err, EINVAL, "%s: expected %s", key, expected);
}

static int read_pod(struct explain_request *request, const struct explain_span *span,
                    struct error *err) {
        request->has_pod = true;
        return pod_facts_skim(&request->pod, span->text, span->len) ? 0
                                                                    : refuse("pod", "a Pod", err);
}

/* Decoded, and owned by the caller; NULL: it is no text. */
static char *text_of(const struct explain_span *span) {
        struct skim_string string;
        struct skim skim;

        skim_init(&skim, span->text, span->len);
        if (!skim_string(&skim, &string))
                return NULL;
        char *text = xcalloc(1, string.len + 1);
        if (skim_decode(&string, text, string.len + 1))
                return text;
        free(text);
        return NULL;
}

static int read_policy(struct explain_request *request, const struct explain_span *span,
                       struct error *err) {
        free(request->policy);
        request->policy = text_of(span);
        return request->policy ? 0 : refuse("policy", "the text of a policy", err);
}

static int read_array(struct explain_span *ret, const struct explain_span *span, const char *key,
                      struct error *err) {
        *ret = *span;
        return span->text[0] == '[' ? 0 : refuse(key, "an array", err);
}

static int read_terms(struct explain_request *request, const struct explain_span *span,
                      struct error *err) {
        request->has_no_terms = span->text[0] == 'f';
        return span->text[0] == 't' || span->text[0] == 'f' ? 0
                                                            : refuse("terms", "true or false", err);
}

static int read_time(struct explain_request *request, const struct explain_span *span,
                     struct error *err) {
        _cleanup_(freep) char *text = text_of(span);

        return text && timestamp_parse(text, strlen(text), &request->at_unix_ms)
                       ? 0
                       : refuse("at", "a time such as 2026-07-23T11:25:54Z", err);
}

static int read_member(struct explain_request *request, const struct skim_string *key,
                       const struct explain_span *span, struct error *err) {
        if (skim_is(key, "pod"))
                return read_pod(request, span, err);
        if (skim_is(key, "policy"))
                return read_policy(request, span, err);
        if (skim_is(key, "nodes"))
                return read_array(&request->nodes, span, "nodes", err);
        if (skim_is(key, "select"))
                return read_array(&request->select, span, "select", err);
        if (skim_is(key, "terms"))
                return read_terms(request, span, err);
        if (skim_is(key, "at"))
                return read_time(request, span, err);
        return error_set(err, EINVAL,
                         "%.*s: unknown; expected pod, policy, nodes, select, terms or at",
                         (int)(key->len < 64 ? key->len : 64), key->text);
}

int explain_request_parse(const char *body, size_t body_bytes, struct explain_request *ret,
                          struct error *err) {
        struct skim_string key;
        enum skim_step step = SKIM_ODD;
        struct skim skim;
        int r = 0;

        *ret = (struct explain_request){0};
        skim_init(&skim, body, body_bytes);
        (void)skim_at_end(&skim); /* goes to the first value */
        if (skim_peek(&skim) == '{') {
                skim_enter(&skim);
                while (r == 0 && (step = skim_member(&skim, &key)) == SKIM_MORE) {
                        struct explain_span span = {.text = skim.at};
                        if (!skim_value(&skim)) {
                                step = SKIM_ODD;
                                break;
                        }
                        span.len = (size_t)(skim.at - span.text);
                        r = read_member(ret, &key, &span, err);
                }
        }
        if (r == 0 && (step != SKIM_END || !skim_at_end(&skim)))
                r = error_set(err, EINVAL, "expected an object in JSON");
        if (r == 0 && ret->policy && !ret->nodes.text)
                r = error_set(err, EINVAL, "policy: expected with nodes");
        if (r < 0)
                explain_request_done(ret);
        return r;
}

void explain_request_done(struct explain_request *request) {
        free(request->policy);
        *request = (struct explain_request){0};
}
