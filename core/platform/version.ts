/**
 * The release version, as returned by `GET /version`: `v<year>.<month>.<day>`. package.json has the same without the
 * `v`.
 */
export const releaseVersion = 'v2026.11.27'

/** The version of the interface description (specification §9). */
export const interfaceVersion = '1.1.1'
