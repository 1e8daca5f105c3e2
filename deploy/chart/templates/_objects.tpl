{{/*
The objects are those of deploy/, which files/ links to. These templates read them, change what the
values say, and print them. Maps are changed in place, so most of what follows prints nothing.
*/}}

{{/* plimsoll.file: every object of a manifest. root, path; kinds: only these */}}
{{- define "plimsoll.file" -}}
{{- $text := .root.Files.Get (printf "files/%s" .path) | required (printf "%s is missing in the chart" .path) -}}
{{- $kinds := .kinds -}}
{{- $root := .root -}}
{{- range regexSplit "(?m)^---$" $text -1 }}
{{- $object := fromYaml . }}
{{- if hasKey $object "Error" }}{{ fail $object.Error }}{{ end }}
{{- if and $object.kind (or (not $kinds) (has $object.kind $kinds)) }}
{{- include "plimsoll.object" (dict "root" $root "object" $object) }}
{{- end }}
{{- end }}
{{- end }}

{{/* plimsoll.object: one of them, as the values want it. root, object */}}
{{- define "plimsoll.object" -}}
{{- $root := .root -}}
{{- $o := .object -}}
{{- $labels := dict "app.kubernetes.io/version" $root.Chart.AppVersion "app.kubernetes.io/managed-by" $root.Release.Service "app.kubernetes.io/instance" $root.Release.Name "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version) -}}
{{- $_ := set $o.metadata "labels" (merge $labels $o.metadata.labels) -}}
{{- /* A role of the API server's own stays where it is, and so does what is not in kube-system. */ -}}
{{- if and (eq ($o.metadata.namespace | toString) "kube-system") (ne $o.metadata.name "plimsoll-scheduler-authentication-reader") -}}
{{- $_ := set $o.metadata "namespace" $root.Release.Namespace -}}
{{- end -}}
{{- range $o.subjects -}}
{{- $_ := set . "namespace" $root.Release.Namespace -}}
{{- end -}}
{{- if eq $o.kind "ServiceAccount" -}}
{{- $part := get (dict "plimsoll-controller" "controller" "plimsoll-extender" "extender" "plimsoll-scheduler" "secondScheduler") $o.metadata.name -}}
{{- with get (get $root.Values $part | default dict) "serviceAccountAnnotations" -}}
{{- $_ := set $o.metadata "annotations" . -}}
{{- end -}}
{{- end -}}
{{- if has $o.kind (list "Deployment" "Job" "Pod") -}}
{{- include "plimsoll.workload" . -}}
{{- end }}
---
{{ toYaml $o }}
{{- end }}

{{/* plimsoll.workload: values of a Deployment, Job or Pod. root, object */}}
{{- define "plimsoll.workload" -}}
{{- $root := .root -}}
{{- $o := .object -}}
{{- $part := get (dict "plimsoll-controller" "controller" "plimsoll-cleanup" "controller" "plimsoll-doctor" "controller" "plimsoll-rebalance" "controller" "plimsoll-extender" "extender" "plimsoll-scheduler" "secondScheduler") $o.metadata.name -}}
{{- $values := get $root.Values $part -}}
{{- $template := $o.spec.template | default $o -}}
{{- $pod := $template.spec -}}
{{- $meta := $template.metadata -}}
{{- if hasKey $o.spec "replicas" -}}
{{- $_ := set $o.spec "replicas" $values.replicas -}}
{{- end -}}
{{- $_ := set $meta "labels" (merge (dict "app.kubernetes.io/version" $root.Chart.AppVersion) $meta.labels $values.podLabels) -}}
{{- with $values.podAnnotations -}}
{{- $_ := set $meta "annotations" (merge (deepCopy .) ($meta.annotations | default dict)) -}}
{{- end -}}
{{- if hasKey $pod "priorityClassName" -}}
{{- $_ := set $pod "priorityClassName" $root.Values.priorityClassName -}}
{{- end -}}
{{- with $root.Values.images.pullSecrets -}}
{{- $_ := set $pod "imagePullSecrets" . -}}
{{- end -}}
{{- range $key := list "nodeSelector" "tolerations" "affinity" -}}
{{- $wanted := index $values $key -}}
{{- if not (kindIs "invalid" $wanted) -}}
{{- $_ := set $pod $key $wanted -}}
{{- end -}}
{{- end -}}
{{- if and (hasKey $pod "topologySpreadConstraints") (not (kindIs "invalid" $values.topologySpreadConstraints)) -}}
{{- $_ := set $pod "topologySpreadConstraints" $values.topologySpreadConstraints -}}
{{- end -}}
{{- with $values.podSecurityContext -}}
{{- $_ := set $pod "securityContext" . -}}
{{- end -}}
{{- range $container := $pod.containers -}}
{{- include "plimsoll.container" (dict "root" $root "meta" $meta "pod" $pod "container" $container "values" $values) -}}
{{- end -}}
{{- if eq $part "extender" -}}
{{- include "plimsoll.extender" . -}}
{{- end -}}
{{- end }}

{{/* plimsoll.container: root, pod, container; values of its pod */}}
{{- define "plimsoll.container" -}}
{{- $root := .root -}}
{{- $c := .container -}}
{{- $values := .values -}}
{{- if eq $c.image "plimsoll-extender" -}}
{{- $values = $root.Values.extender -}}
{{- end -}}
{{- $repository := $values.image.repository -}}
{{- if and $root.Values.images.registry (hasPrefix "plimsoll-" $c.image) -}}
{{- $repository = printf "%s/%s" $root.Values.images.registry $repository -}}
{{- end -}}
{{- $isTask := has $c.name (list "cleanup" "doctor" "rebalance") -}}
{{- if eq $c.name "rebalance" -}}
{{- $_ := set $c "args" (concat $c.args $root.Values.rebalance.extraArgs) -}}
{{- end -}}
{{- if and (hasPrefix "plimsoll-" $c.image) (not $isTask) -}}
{{- $env := list -}}
{{- range $c.env -}}
{{- if not (or (hasKey $values.env .name) (and $values.sources (eq .name "PLIMSOLL_METRICS_SOURCE"))) -}}
{{- $env = append $env . -}}
{{- end -}}
{{- end -}}
{{- with $root.Values.annotationPrefix -}}
{{- $env = append $env (dict "name" "PLIMSOLL_ANNOTATION_PREFIX" "value" .) -}}
{{- end -}}
{{- range $name, $value := $values.env -}}
{{- /* toString writes a million as 1e+06. */ -}}
{{- $env = append $env (dict "name" $name "value" (ternary $value (toJson $value) (kindIs "string" $value))) -}}
{{- end -}}
{{- with $env -}}
{{- $_ := set $c "env" . -}}
{{- end -}}
{{- $_ := set $c "args" (concat ($c.args | default list) $values.extraArgs) -}}
{{- if $values.sources -}}
{{- $_ := set $c "args" (append $c.args "--sources=/etc/plimsoll/sources.yaml") -}}
{{- $_ := set $.meta "annotations" (merge (dict "checksum/sources" (toJson $values.sources | sha256sum)) ($.meta.annotations | default dict)) -}}
{{- $_ := set $c "volumeMounts" (append ($c.volumeMounts | default list) (dict "name" "sources" "mountPath" "/etc/plimsoll")) -}}
{{- $_ := set $.pod "volumes" (append ($.pod.volumes | default list) (dict "name" "sources" "configMap" (dict "name" "plimsoll-sources"))) -}}
{{- end -}}
{{- with $values.envFrom -}}
{{- $_ := set $c "envFrom" . -}}
{{- end -}}
{{- with $values.extraVolumes -}}
{{- $_ := set $.pod "volumes" (concat ($.pod.volumes | default list) .) -}}
{{- end -}}
{{- with $values.extraVolumeMounts -}}
{{- $_ := set $c "volumeMounts" (concat ($c.volumeMounts | default list) .) -}}
{{- end -}}
{{- end -}}
{{- if and $isTask $root.Values.annotationPrefix -}}
{{- $_ := set $c "env" (append ($c.env | default list) (dict "name" "PLIMSOLL_ANNOTATION_PREFIX" "value" $root.Values.annotationPrefix)) -}}
{{- end -}}
{{- $_ := set $c "image" (printf "%s:%s" $repository ($values.image.tag | default $root.Chart.AppVersion)) -}}
{{- with $root.Values.images.pullPolicy -}}
{{- $_ := set $c "imagePullPolicy" . -}}
{{- end -}}
{{- with $values.resources -}}
{{- $_ := set $c "resources" . -}}
{{- end -}}
{{- with $values.securityContext -}}
{{- $_ := set $c "securityContext" . -}}
{{- end -}}
{{- end }}

{{/* plimsoll.extender: TLS, bind and admission, by the overlays' patches. root, object */}}
{{- define "plimsoll.extender" -}}
{{- $values := .root.Values.extender -}}
{{- $overlays := get (dict "none" list "tls" (list "extender-tls") "mtls" (list "extender-tls" "extender-mtls")) $values.tls.mode -}}
{{- if $values.bind -}}
{{- $overlays = append $overlays "extender-bind" -}}
{{- end -}}
{{- if .root.Values.admission.enabled -}}
{{- $overlays = append $overlays "admission" -}}
{{- end -}}
{{- $pod := .object.spec.template.spec -}}
{{- range $overlay := $overlays -}}
{{- $patch := (fromYaml ($.root.Files.Get (printf "files/%s/extender.yaml" $overlay))).spec.template.spec -}}
{{- include "plimsoll.patch" (dict "pod" $pod "patch" $patch) -}}
{{- end -}}
{{- range $pod.volumes -}}
{{- if eq .name "tls" -}}
{{- $_ := set .secret "secretName" $values.tls.secretName -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* plimsoll.patch: what the overlays use of kustomize's strategic merge. pod, patch: of one container */}}
{{- define "plimsoll.patch" -}}
{{- $container := first .pod.containers -}}
{{- $patch := first .patch.containers -}}
{{- with .patch.volumes -}}
{{- $_ := set $.pod "volumes" (concat ($.pod.volumes | default list) .) -}}
{{- end -}}
{{- range $key := list "env" "ports" "volumeMounts" -}}
{{- with get $patch $key -}}
{{- $_ := set $container $key (concat . (get $container $key | default list)) -}}
{{- end -}}
{{- end -}}
{{- range $probe := list "livenessProbe" "readinessProbe" -}}
{{- $changes := get $patch $probe | default dict -}}
{{- $to := get $container $probe -}}
{{- range $key, $value := $changes -}}
{{- if kindIs "invalid" $value -}}
{{- $_ := unset $to $key -}}
{{- else -}}
{{- $_ := set $to $key (merge $value (get $to $key | default dict)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
