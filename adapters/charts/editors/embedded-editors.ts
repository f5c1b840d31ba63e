import type { EmbeddedChart } from '../../../core/packages/charts/ports.ts'
import type { ResourceEditor } from '../../../core/packages/editors/types.ts'
import type { SourceRef } from '../../../core/packages/types.ts'
import { toWireJson } from '../../../core/kernel/json.ts'

/** The source of the charts embedded in this service. */
export const embedSource: SourceRef = { apiGroup: 'charts.x-helm.dev', kind: 'Embed', namespace: '', name: 'editors' }

interface ChartText {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly annotations?: Readonly<Record<string, string>>
  /** All files except Chart.yaml. */
  readonly files: Readonly<Record<string, string>>
}

/** Returns a chart with a Chart.yaml of these facts. Annotations are written as JSON texts, which YAML can read. */
const embeddedChart = ({ name, version, description, annotations = {}, files }: ChartText): EmbeddedChart => {
  const lines = Object.entries(annotations).map(([key, value]) => `  ${key}: ${toWireJson(value)}\n`)
  const chartYaml = `apiVersion: v2\nname: ${name}\ndescription: ${toWireJson(description)}\ntype: application\nversion: ${version}\n${lines.length === 0 ? '' : `annotations:\n${lines.join('')}`}`
  return { name, version, files: { 'Chart.yaml': chartYaml, ...files } }
}

const version = '1.0.0'

const configMapMetadata = `metadata:
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

const configMapOptions = embeddedChart({
  name: 'core-configmap-options',
  version,
  description: 'Options of a ConfigMap: what it holds, and whether it may change',
  files: {
    'values.yaml': `${configMapMetadata}spec:
  immutable: false
  data: {}
`,
    'values.schema.json': toWireJson({
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: {
            immutable: { type: 'boolean' },
            data: { type: 'object', additionalProperties: { type: 'string' } },
          },
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

const configMapEditor = embeddedChart({
  name: 'core-configmap-editor',
  version,
  description: 'Editor of a ConfigMap',
  annotations: {
    'meta.x-helm.dev/editor': '{"group":"","version":"v1","resource":"configmaps"}',
    'meta.x-helm.dev/resource-keys': 'configMap',
    'meta.x-helm.dev/resources': '[{"group":"","version":"v1","kind":"ConfigMap"}]',
  },
  files: {
    'values.yaml': `${configMapMetadata}resources:
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

const configMapResourceEditor: ResourceEditor = {
  resource: { group: '', version: 'v1', name: 'configmaps', kind: 'ConfigMap', scope: 'Namespaced' },
  options: { name: configMapOptions.name, version, source: embedSource },
  editor: { name: configMapEditor.name, version, source: embedSource },
  instanceLabelPaths: [],
  origin: 'built-in',
}

const deploymentMetadata = `metadata:
  resource:
    group: apps
    version: v1
    name: deployments
    kind: Deployment
    scope: Namespaced
  release:
    name: web
    namespace: default
`

const optionsSchema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['image'],
      properties: {
        image: { type: 'string', minLength: 1 },
        replicas: { type: 'integer', minimum: 0, maximum: 1000 },
        port: { type: 'integer', minimum: 1, maximum: 65535 },
        expose: { type: 'boolean' },
        env: { type: 'object', additionalProperties: { type: 'string' } },
      },
    },
  },
  required: ['spec'],
}

const labels = (indent: string): string =>
  `${indent}app.kubernetes.io/name: {{ .Release.Name }}\n${indent}app.kubernetes.io/instance: {{ .Release.Name }}\n`

const deploymentOptions = embeddedChart({
  name: 'apps-deployment-options',
  version,
  description: 'Options of a Deployment: an image, how many copies, and a port that other pods can reach',
  files: {
    'values.yaml': `${deploymentMetadata}spec:
  image: registry.k8s.io/pause:3.10
  replicas: 1
  port: 8080
  expose: false
  env: {}
`,
    'values.schema.json': toWireJson(optionsSchema),
    'templates/deployment.yaml': `{{- $spec := .Values.spec | default dict }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
  labels:
${labels('    ')}spec:
  replicas: {{ if hasKey $spec "replicas" }}{{ int $spec.replicas }}{{ else }}1{{ end }}
  selector:
    matchLabels:
${labels('      ')}  template:
    metadata:
      labels:
${labels('        ')}    spec:
      containers:
        - name: main
          image: {{ required "spec.image is needed" $spec.image | quote }}
          {{- with $spec.env }}
          env:
            {{- range $name, $value := . }}
            - name: {{ $name | quote }}
              value: {{ $value | quote }}
            {{- end }}
          {{- end }}
          {{- with $spec.port }}
          ports:
            - name: main
              containerPort: {{ int . }}
          {{- end }}
`,
    'templates/service.yaml': `{{- $spec := .Values.spec | default dict }}
{{- if and $spec.expose $spec.port }}
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
  labels:
${labels('    ')}spec:
  selector:
${labels('    ')}  ports:
    - name: main
      port: {{ int $spec.port }}
      targetPort: main
{{- end }}
`,
  },
})

const editorTemplate = (key: string): string => `{{- with .Values.resources.${key} }}\n{{ toYaml . }}\n{{- end }}\n`

const deploymentEditor = embeddedChart({
  name: 'apps-deployment-editor',
  version,
  description: 'Editor of a Deployment with its Service',
  annotations: {
    'meta.x-helm.dev/editor': '{"group":"apps","version":"v1","resource":"deployments"}',
    'meta.x-helm.dev/resource-keys': 'appsDeployment,service',
    'meta.x-helm.dev/resources':
      '[{"group":"apps","version":"v1","kind":"Deployment"},{"group":"","version":"v1","kind":"Service"}]',
  },
  files: {
    'values.yaml': `${deploymentMetadata}resources:
  appsDeployment:
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
      namespace: default
    spec: {}
  service:
    apiVersion: v1
    kind: Service
    metadata:
      name: web
      namespace: default
    spec: {}
`,
    'templates/deployment.yaml': editorTemplate('appsDeployment'),
    'templates/service.yaml': editorTemplate('service'),
  },
})

const deploymentResourceEditor: ResourceEditor = {
  resource: { group: 'apps', version: 'v1', name: 'deployments', kind: 'Deployment', scope: 'Namespaced' },
  options: { name: deploymentOptions.name, version, source: embedSource },
  editor: { name: deploymentEditor.name, version, source: embedSource },
  instanceLabelPaths: [
    ['spec', 'selector', 'matchLabels'],
    ['spec', 'template', 'metadata', 'labels'],
  ],
  origin: 'built-in',
}

/** The charts of the built-in editors, for the source `Embed` named `editors`. */
export const embeddedEditorCharts: readonly EmbeddedChart[] = [
  configMapOptions,
  configMapEditor,
  deploymentOptions,
  deploymentEditor,
]

/** Editors that work on any cluster, unless the cluster has its own for the same resource. */
export const builtInEditors: readonly ResourceEditor[] = [configMapResourceEditor, deploymentResourceEditor]
