import type { ChartServer } from './chart-server.ts'

/** What an operation needs to name a chart of a test repository. */
export const chartSource = (server: ChartServer, name: string, version = ''): Readonly<Record<string, string>> => ({
  name,
  version,
  sourceApiGroup: '',
  sourceKind: 'Legacy',
  sourceNamespace: '',
  sourceName: server.url,
})
