import type * as t from 'io-ts'
import type { Release, ReleaseHeader } from '../../core/packages/types.ts'
import type { ReleaseOut } from './codecs.ts'

type ReleaseOut = t.TypeOf<typeof ReleaseOut>

/** A whole release, key for key. */
export const toRelease = (release: Release): ReleaseOut => {
  const { config, hooks, apply_method, ...rest } = release
  return { ...rest, config, hooks: hooks === undefined ? undefined : [...hooks], apply_method }
}

/** A row of a list: trimmed, or whole where the list was asked for whole releases. */
export const toReleaseRow = (row: ReleaseHeader | Release): ReleaseOut => {
  if (!('chartMetadata' in row)) return toRelease(row)
  const { chartMetadata, ...rest } = row
  return { ...rest, chart: { metadata: chartMetadata }, config: undefined, manifest: undefined, hooks: undefined, apply_method: undefined }
}

/** A release without the files, templates and default values of its chart. */
export const toReleaseState = (release: Release): ReleaseOut => {
  const { templates: _templates, values: _values, files: _files, ...chart } = release.chart
  return toRelease({ ...release, chart })
}
