import { fastJsonPatches } from '../../../adapters/charts/json-patches.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { Chart } from '../../../core/packages/charts/ports.ts'
import { chartTexts } from '../texts.ts'

/**
 * How what a caller says about values becomes the complete set, and what helm is given so that nothing else creeps in.
 */
export const readers = { chartTexts, patches: fastJsonPatches }
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

export const chartOf = (values: FreeObject, more: Partial<Chart> = {}): Chart => ({
  name: 'web',
  version: '1.0.0',
  metadata: { name: 'web', version: '1.0.0' },
  values,
  files: new Map(),
  subcharts: [],
  ...more,
})

export const chart = chartOf(
  { replicas: 1, image: { name: 'nginx', tag: '1' }, args: ['a'] },
  {
    files: new Map([
      ['values-small.yaml', bytes('\uFEFFreplicas: 0\nimage:\n  name: tiny\n')],
      ['list.yaml', bytes('- 1')],
      ['broken.yaml', bytes('a: [')],
    ]),
  },
)
