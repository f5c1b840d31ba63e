import type { EmbeddedChart } from '../../core/packages/chart-ports.ts'

interface ChartText {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly annotations?: Readonly<Record<string, string>>
  /** Everything but Chart.yaml. */
  readonly files: Readonly<Record<string, string>>
}

/** A chart with the Chart.yaml that these facts make. Annotations are written as JSON texts, which YAML reads. */
export const embeddedChart = ({ name, version, description, annotations = {}, files }: ChartText): EmbeddedChart => {
  const lines = Object.entries(annotations).map(([key, value]) => `  ${key}: ${JSON.stringify(value)}\n`)
  const chartYaml = `apiVersion: v2\nname: ${name}\ndescription: ${JSON.stringify(description)}\ntype: application\nversion: ${version}\n${lines.length === 0 ? '' : `annotations:\n${lines.join('')}`}`
  return { name, version, files: { 'Chart.yaml': chartYaml, ...files } }
}
