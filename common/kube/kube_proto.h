/*
 * What the API server sends to those who accept protobuf: an envelope, which says the kind and
 * holds the object, and what is read of each kind of object (codec/proto_json.h). Pure.
 *
 * The API server encodes an event of a watch once for each encoding that somebody watches in.
 * Its usual clients take protobuf, so a watch in JSON has a price that one in protobuf has not.
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

/* Of an object as JSON: whole ones are at most 1.5 MiB, what is read of them less. */
enum { KUBE_PROTO_MAX_BYTES = 8 << 20 };

/* Accept headers. A server without protobuf answers in JSON. The first is for whole objects; the
 * others ask for nothing but metadata, in a list and in a watch. */
#define KUBE_ACCEPT_PROTO "application/vnd.kubernetes.protobuf,application/json;q=0.9"
#define KUBE_ACCEPT_PROTO_METADATA_LIST                                                            \
        "application/"                                                                             \
        "vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v="                    \
        "v1," KUBE_ACCEPT_METADATA_LIST
#define KUBE_ACCEPT_PROTO_METADATA                                                                 \
        "application/"                                                                             \
        "vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v="                        \
        "v1," KUBE_ACCEPT_METADATA

/* The extended resource of spec.idle: thousandths of a CPU that a node offers to batch pods, and
 * that these request. */
#define KUBE_IDLE_RESOURCE "plimsoll.io/idle-milli-cpu"

/* A Pod's fields that the estimate and the counting of bindings read, with only those annotations,
 * labels and conditions; of resources cpu, memory and KUBE_IDLE_RESOURCE. */
extern const struct proto_message kube_proto_pod;
/* A Node's fields that both programs read, of whole objects and of their metadata: of resources
 * cpu, memory and KUBE_IDLE_RESOURCE; all labels, since people filter by them; all annotations,
 * since their names depend on the policy. */
extern const struct proto_message kube_proto_node;
/* metav1.Status: message, reason, code */
extern const struct proto_message kube_proto_status;

/** kube_proto_is() - @data is an envelope; no JSON text begins like one */
bool kube_proto_is(const char *data, size_t len);

/* Borrows from the envelope. */
struct kube_proto {
        struct proto_field kind;   /* without a NUL; "" when it is missing */
        struct proto_field object; /* a message; "" when it is missing */
};

/** kube_proto_open() - false when @data is no envelope, or a malformed one */
_must_check_ bool kube_proto_open(const char *data, size_t len, struct kube_proto *ret);

/**
 * kube_proto_object() - append the object of an envelope as JSON
 * @message: of its kind; a Status is read as a Status, whatever was asked for
 * Return: false when it is malformed or passes the buffer's ceiling
 */
_must_check_ bool kube_proto_object(struct buf *out, const struct proto_message *message,
                                    const char *data, size_t len);
