import { chartArchive, chartYaml } from '../../support/charts/archive.ts'
import type { HelmChart } from '../../../core/packages/releases/ports.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'

/** What a chart of a case is to do. */
export interface ChartSpec {
  readonly version?: string
  /** A ConfigMap `<release>-map` carries it. */
  readonly text?: string
  /** A ConfigMap that is a hook before installing and upgrading. */
  readonly hasHook?: boolean
  readonly notes?: string
  /** A Deployment that never gets ready. */
  readonly neverReady?: boolean
  /** Further files of the chart. */
  readonly files?: Readonly<Record<string, string>>
  readonly values?: FreeObject | undefined
}

const map = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-map
data:
  text: {{ .Values.text | quote }}
  kube: {{ .Capabilities.KubeVersion.Version | quote }}
  hasMongo: {{ .Capabilities.APIVersions.Has "mongo.example.com/v1/Mongo" | quote }}
`

const hook = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-hook
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-weight: "3"
    helm.sh/hook-delete-policy: before-hook-creation
data: {}
`

const never = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-never
  annotations: { moorage.test/outcome: never }
spec:
  replicas: 1
  selector: { matchLabels: { app: never } }
  template:
    metadata: { labels: { app: never }, annotations: { moorage.test/outcome: never } }
    spec: { containers: [{ name: main, image: example/never }] }
`

/** An archive as helm is given it. */
const trialArchive = ({
  version = '1.0.0',
  text = 'calm',
  hasHook,
  notes,
  neverReady,
  files,
}: ChartSpec): Promise<Uint8Array> =>
  chartArchive(
    {
      'Chart.yaml': chartYaml('berth', '', version),
      'values.yaml': `text: ${JSON.stringify(text)}\n`,
      'templates/map.yaml': map,
      ...(hasHook === true ? { 'templates/hook.yaml': hook } : {}),
      ...(neverReady === true ? { 'templates/never.yaml': never } : {}),
      ...(notes === undefined ? {} : { 'templates/NOTES.txt': notes }),
      ...files,
    },
    'berth',
  )

export const trialChart = async (spec: ChartSpec = {}): Promise<HelmChart> => ({
  archive: await trialArchive(spec),
  values: spec.values,
})
