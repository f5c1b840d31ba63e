import type { ResourceEditor } from '../../core/packages/editor-types.ts'
import { embeddedChart } from './embedded-chart.ts'
import { embedSource } from './embed-source.ts'

const version = '1.0.0'

const metadataValues = `metadata:
  resource:
    group: ""
    version: v1
    name: configmaps
    kind: ConfigMap
    scope: Namespaced
  release:
    name: settings
    namespace: default
`

export const configMapOptions = embeddedChart({
  name: 'core-configmap-options',
  version,
  description: 'Options of a ConfigMap: what it holds, and whether it may change',
  files: {
    'values.yaml': `${metadataValues}spec:
  immutable: false
  data: {}
`,
    'values.schema.json': JSON.stringify({
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: { immutable: { type: 'boolean' }, data: { type: 'object', additionalProperties: { type: 'string' } } },
        },
      },
    }),
    'templates/configmap.yaml': `{{- $spec := .Values.spec | default dict }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
  labels:
    app.kubernetes.io/name: {{ .Release.Name }}
    app.kubernetes.io/instance: {{ .Release.Name }}
{{- if $spec.immutable }}
immutable: true
{{- end }}
data: {{ $spec.data | default dict | toJson }}
`,
  },
})

export const configMapEditor = embeddedChart({
  name: 'core-configmap-editor',
  version,
  description: 'Editor of a ConfigMap',
  annotations: {
    'meta.x-helm.dev/editor': '{"group":"","version":"v1","resource":"configmaps"}',
    'meta.x-helm.dev/resource-keys': 'configMap',
    'meta.x-helm.dev/resources': '[{"group":"","version":"v1","kind":"ConfigMap"}]',
  },
  files: {
    'values.yaml': `${metadataValues}resources:
  configMap:
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: settings
      namespace: default
    data: {}
`,
    'templates/configmap.yaml': `{{- with .Values.resources.configMap }}
{{ toYaml . }}
{{- end }}
`,
  },
})

export const configMapResourceEditor: ResourceEditor = {
  resource: { group: '', version: 'v1', name: 'configmaps', kind: 'ConfigMap', scope: 'Namespaced' },
  options: { name: configMapOptions.name, version, source: embedSource },
  editor: { name: configMapEditor.name, version, source: embedSource },
  instanceLabelPaths: [],
  origin: 'built-in',
}
