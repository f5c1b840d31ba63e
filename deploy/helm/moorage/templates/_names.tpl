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
