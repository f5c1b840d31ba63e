import type { ResourceEditor } from '../../core/packages/editor-types.ts'
import { embeddedChart } from './embedded-chart.ts'
import { embedSource } from './embed-source.ts'

const version = '1.0.0'

const metadataValues = `metadata:
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

const labels = (indent: string): string => `${indent}app.kubernetes.io/name: {{ .Release.Name }}\n${indent}app.kubernetes.io/instance: {{ .Release.Name }}\n`

export const deploymentOptions = embeddedChart({
  name: 'apps-deployment-options',
  version,
  description: 'Options of a Deployment: an image, how many copies, and a port that other pods can reach',
  files: {
    'values.yaml': `${metadataValues}spec:
  image: registry.k8s.io/pause:3.10
  replicas: 1
  port: 8080
  expose: false
  env: {}
`,
    'values.schema.json': JSON.stringify(optionsSchema),
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

export const deploymentEditor = embeddedChart({
  name: 'apps-deployment-editor',
  version,
  description: 'Editor of a Deployment with its Service',
  annotations: {
    'meta.x-helm.dev/editor': '{"group":"apps","version":"v1","resource":"deployments"}',
    'meta.x-helm.dev/resource-keys': 'appsDeployment,service',
    'meta.x-helm.dev/resources': '[{"group":"apps","version":"v1","kind":"Deployment"},{"group":"","version":"v1","kind":"Service"}]',
  },
  files: {
    'values.yaml': `${metadataValues}resources:
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

export const deploymentResourceEditor: ResourceEditor = {
  resource: { group: 'apps', version: 'v1', name: 'deployments', kind: 'Deployment', scope: 'Namespaced' },
  options: { name: deploymentOptions.name, version, source: embedSource },
  editor: { name: deploymentEditor.name, version, source: embedSource },
  instanceLabelPaths: [
    ['spec', 'selector', 'matchLabels'],
    ['spec', 'template', 'metadata', 'labels'],
  ],
  origin: 'built-in',
}
