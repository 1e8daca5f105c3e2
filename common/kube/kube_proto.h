/*
 * The API server's protobuf: an envelope with a kind and an object, and the fields that we read of
 * each kind (codec/proto_json.h). Pure.
 *
 * Why protobuf: the API server encodes an event once per encoding in use. Its usual clients use
 * protobuf, so that a watch in JSON would add the cost of another encoding.
 *
 * Envelope: "k8s\0", then runtime.Unknown {1: TypeMeta {1: apiVersion, 2: kind}, 2: object}.
 * Field numbers: generated.proto of k8s.io/api/core/v1, k8s.io/apimachinery/pkg/runtime and
 * k8s.io/apimachinery/pkg/apis/meta/v1; they never change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "codec/proto.h"
#include "codec/proto_json.h"
#include "kube/kube_api.h"

/* Of an object as JSON. Whole objects have at most 1.5 MiB, and we read only a part. */
enum { KUBE_PROTO_MAX_BYTES = 8 << 20 };

/* An Accept header. A server without protobuf answers in JSON. */
#define KUBE_ACCEPT_PROTO "application/vnd.kubernetes.protobuf,application/json;q=0.9"

/* The extended resource of spec.idle: thousandths of a CPU that nodes offer and batch pods request.
 */
#define KUBE_IDLE_RESOURCE "plimsoll.io/idle-milli-cpu"

/* The fields of a Pod for the estimate and for counting bindings, with only the annotations, labels
 * and conditions that they use, and with cpu, memory and KUBE_IDLE_RESOURCE as resources. */
extern const struct proto_message kube_proto_pod;
/* The fields of a Node for both programs, with cpu, memory and
 * KUBE_IDLE_RESOURCE as resources. All labels, since people filter by them; all annotations, since
 * their names depend on the policy. */
extern const struct proto_message kube_proto_node;
/* metav1.Status: message, reason, code */
extern const struct proto_message kube_proto_status;

/** kube_proto_is() - whether @data begins like an envelope, which no JSON does */
bool kube_proto_is(const char *data, size_t len);

/* Borrows from the envelope. */
struct kube_proto {
        struct proto_field kind;   /* without a NUL; "" if missing */
        struct proto_field object; /* a message; "" if missing */
};

/** kube_proto_open() - read an envelope; false if it is malformed or not an envelope */
_must_check_ bool kube_proto_open(const char *data, size_t len, struct kube_proto *ret);

/**
 * kube_proto_object() - append the object of an envelope as JSON
 * @message: for its kind; a Status is always read as a Status
 * Return: false if it is malformed or exceeds the ceiling of @out
 */
_must_check_ bool kube_proto_object(struct buf *out, const struct proto_message *message,
                                    const char *data, size_t len);
