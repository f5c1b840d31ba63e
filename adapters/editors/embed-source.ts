import type { SourceRef } from '../../core/packages/types.ts'

/** Where the charts of this service itself come from. */
export const embedSource: SourceRef = { apiGroup: 'charts.x-helm.dev', kind: 'Embed', namespace: '', name: 'editors' }
