import { parse, Range, rcompare, satisfies, type SemVer } from 'semver'

const written = /^v?(\d{1,15})(?:\.(\d{1,15}))?(?:\.(\d{1,15}))?(-[0-9A-Za-z.-]{1,128})?(\+[0-9A-Za-z.-]{1,128})?$/

/**
 * Parses a version as charts write it: a `v` prefix and missing parts are allowed. Returns undefined if it is not a
 * version.
 */
export const readVersion = (text: string): SemVer | undefined => {
  const [whole, major, minor = '0', patch = '0', prerelease = '', build = ''] = written.exec(text) ?? []
  if (whole === undefined) return undefined
  return parse(`${major}.${minor}.${patch}${prerelease}${build}`) ?? undefined
}

/** Longer ranges are slow to parse, and no chart has one. */
const maxRangeLength = 256

interface Group {
  readonly range: Range
  /** Versions excluded by `!=`. */
  readonly excluded: readonly Range[]
  readonly namesPrerelease: boolean
}

const rangeOf = (text: string): Range | undefined => {
  try {
    return new Range(text, { includePrerelease: true })
  } catch {
    return undefined
  }
}

const groupOf = (text: string): Group | undefined => {
  const plain = text
    .replaceAll(',', ' ')
    .replace(/(!=|~>|=>|=<|[<>]=?|=|\^|~)\s+/g, '$1')
    .replaceAll('=>', '>=')
    .replaceAll('=<', '<=')
  const excluded = (plain.match(/!=\S+/g) ?? []).map((part) => rangeOf(part.slice(2)))
  const range = rangeOf(plain.replace(/!=\S+/g, ' ').trim() || '*')
  if (range === undefined || excluded.some((each) => each === undefined)) return undefined
  return {
    range,
    excluded: excluded.filter((each) => each !== undefined),
    namesPrerelease: /\d-[0-9A-Za-z]/.test(plain),
  }
}

const groupsOf = (range: string): readonly Group[] | undefined => {
  if (range.length > maxRangeLength) return undefined
  const groups = range.split('||').map(groupOf)
  return groups.every((group) => group !== undefined) ? groups : undefined
}

const isIn = (version: SemVer, groups: readonly Group[]): boolean =>
  groups.some(({ range, excluded, namesPrerelease }) => {
    if (version.prerelease.length > 0 && !namesPrerelease) return false
    return (
      satisfies(version, range, { includePrerelease: true }) &&
      !excluded.some((each) => satisfies(version, each, { includePrerelease: true }))
    )
  })

/**
 * Reports whether a version is in a range of Chart.yaml: `^1.2`, `~1.2`, `1.2 - 2.3`, `>=1.2, <2` (a comma is AND),
 * `||`. A prerelease is in range only if the range names one. A text that is not a version is in no range, and a text
 * that is not a range contains no version.
 */
export const isInRange = (version: string, range: string): boolean => {
  const [read, groups] = [readVersion(version), groupsOf(range === '' ? '*' : range)]
  return read !== undefined && groups !== undefined && isIn(read, groups)
}

/** Sorts versions newest first. Texts that are not versions are left out. */
export const newestFirst = (versions: readonly string[]): readonly string[] =>
  versions
    .flatMap((text) => {
      const version = readVersion(text)
      return version === undefined ? [] : [{ text, version }]
    })
    .sort((a, b) => rcompare(a.version, b.version) || b.version.compareBuild(a.version))
    .map(({ text }) => text)

/**
 * Returns the requested version: the one of exactly that name, or the newest in the range; empty means the newest
 * stable one.
 */
export const chooseVersion = (versions: readonly string[], wanted: string): string | undefined => {
  if (wanted !== '' && versions.includes(wanted)) return wanted
  return newestFirst(versions).find((version) => isInRange(version, wanted === '' ? '*' : wanted))
}
