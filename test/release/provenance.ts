/** A file of a release, by its SHA-256 in hexadecimal. */
export interface ReleasedFile {
  readonly name: string
  readonly sha256: string
}

/** The source and the tools of a release. */
export interface Built {
  /** The address of the repository, as `package.json` or the remote of the clone names it. */
  readonly repository: string
  readonly commit: string
  readonly tag: string
  readonly node: string
  readonly npm: string
  readonly at: Date
}

/** Returns the lines of a file for `sha256sum --check`. */
export const checksums = (released: readonly ReleasedFile[]): string =>
  released.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join('')

/** Returns an in-toto statement with a SLSA provenance: which source and tools made the files. It is not signed. */
export const provenance = (released: readonly ReleasedFile[], built: Built) => ({
  _type: 'https://in-toto.io/Statement/v1',
  subject: released.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
  predicateType: 'https://slsa.dev/provenance/v1',
  predicate: {
    buildDefinition: {
      buildType: 'npm run release',
      externalParameters: { tag: built.tag },
      internalParameters: { node: built.node, npm: built.npm },
      resolvedDependencies: [{ uri: built.repository, digest: { gitCommit: built.commit } }],
    },
    runDetails: { builder: { id: 'npm run release' }, metadata: { finishedOn: built.at.toISOString() } },
  },
})
