/** The files of a site, and its document. */
export interface LoadedSite {
  /** By name. The name contains a digest of the text, so that a file can be kept for ever. */
  readonly files: ReadonlyMap<string, { readonly type: string; readonly text: string }>
  /**
   * Returns the HTML that every path of the site gets.
   * @param up the way from the path to the root of the site, such as `../`.
   */
  document(up: string): string
}

/**
 * A page of several views outside of the API: below `/<root>/` each path gets the same document, whose scripts draw the
 * view. All addresses are relative, so that a reverse proxy can serve the site below a path of its own.
 */
export interface StaticSite {
  readonly root: string
  /** For the start page. */
  readonly title: string
  readonly summary: string
  /** Reads the files. Called once, at the first request. Throws if one is missing or not valid. */
  load(): LoadedSite
}
