{{- define "moorage.name" -}}
{{- if contains "moorage" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-moorage" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "moorage.selector" -}}
app.kubernetes.io/name: moorage
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: server
{{- end }}

{{- define "moorage.labels" -}}
app.kubernetes.io/name: moorage
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "moorage.image" -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- end }}

{{- define "moorage.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "moorage.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "moorage.settings" -}}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- range $name, $secret := .Values.secretSettings }}
- name: {{ $name }}
  valueFrom: { secretKeyRef: { name: {{ $secret.name | quote }}, key: {{ $secret.key | quote }} } }
{{- end }}
{{- if .Values.keyring.secret.name }}
- name: MOORAGE_KEYRING
  value: /etc/moorage/keyring/keyring.json
{{- end }}
{{- end }}

{{- define "moorage.volumes" -}}
{{- if .Values.keyring.secret.name }}
- name: keyring
  secret:
    secretName: {{ .Values.keyring.secret.name | quote }}
    defaultMode: 0440
    items: [{ key: {{ .Values.keyring.secret.key | quote }}, path: keyring.json }]
{{- end }}
{{- end }}

{{- define "moorage.volumeMounts" -}}
{{- if .Values.keyring.secret.name }}
- { name: keyring, mountPath: /etc/moorage/keyring, readOnly: true }
{{- end }}
- { name: data, mountPath: /data }
{{- end }}

{{- define "moorage.mebibytes" -}}
{{- $number := regexFind "^[0-9.]+([eE][-+]?[0-9]+)?" . }}
{{- $unit := trimPrefix $number . }}
{{- $bytes := dict "m" 0.001 "" 1.0 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1.099511627776e12 "Pi" 1.125899906842624e15 "Ei" 1.152921504606847e18 }}
{{- if not (hasKey $bytes $unit) }}{{ fail (printf "resources.limits.memory is %s: write a quantity such as 1Gi." .) }}{{ end }}
{{- divf (mulf (float64 $number) (get $bytes $unit)) 1048576.0 | floor | int64 }}
{{- end }}

{{- /* A worker takes 320 MiB under load, and the first process 110 MiB: docs/operators.md. */}}
{{- define "moorage.refuseWorkersBeyondMemory" -}}
{{- $workers := dig "MOORAGE_WORKERS" 1 .Values.settings | toString | atoi }}
{{- $limit := dig "limits" "memory" "" .Values.resources | toString }}
{{- if and (gt $workers 1) $limit }}
{{- $needed := add 110 (mul 320 $workers) }}
{{- if lt (include "moorage.mebibytes" $limit | atoi) (int $needed) }}
{{- fail (printf "settings.MOORAGE_WORKERS is %d, for which resources.limits.memory must be at least %dMi, and it is %s: raise the limit, or lower the number." $workers $needed $limit) }}
{{- end }}
{{- end }}
{{- end }}
