import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import type { FreeObject } from '../../core/kernel/json.ts'
import type { Chart } from '../../core/packages/chart-ports.ts'
import { kubernetesYamlText } from './kubernetes-yaml-text.ts'

/** The same for every archive, so that the same files pack to the same bytes. */
const modifiedAt = new Date('2000-01-01T00:00:00Z')
const fileMode = 0o644

const compare = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

const withAnnotations = (metadata: FreeObject, annotations: Readonly<Record<string, string>>): Uint8Array => {
  const before = metadata['annotations']
  const kept = typeof before === 'object' && before !== null && !Array.isArray(before) ? (before as FreeObject) : {}
  // Of a v1 chart these come from requirements.yaml, and stay there.
  const { dependencies, ...rest } = metadata
  const own = metadata['apiVersion'] === 'v1' || dependencies === undefined ? rest : metadata
  return Buffer.from(kubernetesYamlText.print({ ...own, annotations: { ...kept, ...annotations } }))
}

/** A `.tgz` of the files, below one folder of the chart's name, in the order of their paths. */
export const packChart = async (chart: Pick<Chart, 'name' | 'metadata' | 'files'>, annotations: Readonly<Record<string, string>>): Promise<Uint8Array<ArrayBuffer>> => {
  const tarball = pack()
  const parts: Uint8Array[] = []
  const gathered = (async () => {
    for await (const part of tarball as AsyncIterable<Uint8Array>) parts.push(part)
  })()
  const isChanged = Object.keys(annotations).length > 0
  // Helm finds a chart's archive by its Chart.yaml, so that goes first.
  const paths = [...chart.files.keys()].sort((a, b) => Number(b === 'Chart.yaml') - Number(a === 'Chart.yaml') || compare(a, b))
  for (const path of paths) {
    const bytes = path === 'Chart.yaml' && isChanged ? withAnnotations(chart.metadata, annotations) : (chart.files.get(path) ?? new Uint8Array())
    tarball.entry({ name: `${chart.name}/${path}`, mode: fileMode, mtime: modifiedAt, size: bytes.length }, Buffer.from(bytes))
  }
  tarball.finalize()
  await gathered
  return new Uint8Array(gzipSync(Buffer.concat(parts), { level: 6 }))
}
