/** What a verifier found in a license. */
export interface ReadLicense {
  /** Decimal digits. */
  readonly serial: string
  readonly clusterUid: string
  readonly features: readonly string[]
  readonly plan: string
  readonly flags: Readonly<Record<string, string>>
  readonly notBefore: Date
  readonly notAfter: Date
  /** The license is signed by one of the authorities given. */
  readonly isTrusted: boolean
  /** The end of the authority that signed it; undefined if it is not trusted. */
  readonly authorityEnd: Date | undefined
  /** The certificate may be used to identify a client, as licenses are. */
  readonly isForClients: boolean
  /**
   * The names that the certificate is valid for include this cluster; undefined if none was named. A license whose common name is
   * `*.` and the organization of its authority is for every cluster.
   */
  readonly matchesCluster: boolean | undefined
}

/** What a verifier asks for. */
export interface VerificationRequest {
  readonly now: Date
  readonly feature: string | undefined
  /** Serials of a revocation list, in decimal digits. */
  readonly revoked: ReadonlySet<string>
}

/** Returns why a verifier must refuse a license; empty if it must accept it. */
export const licenseFaults = (license: ReadLicense, { now, feature, revoked }: VerificationRequest): readonly string[] => [
  ...(license.isTrusted ? [] : ['It is not signed by a known authority.']),
  ...(license.isForClients ? [] : ['It is not a license: its extended key usage is not clientAuth.']),
  ...(now.getTime() < license.notBefore.getTime() ? [`It is not valid before ${license.notBefore.toISOString()}.`] : []),
  ...(now.getTime() > license.notAfter.getTime() ? [`It expired at ${license.notAfter.toISOString()}.`] : []),
  ...(license.authorityEnd !== undefined && now.getTime() > license.authorityEnd.getTime() ? [`The authority that signed it expired at ${license.authorityEnd.toISOString()}.`] : []),
  ...(license.matchesCluster === false ? ['It is for another cluster.'] : []),
  ...(feature === undefined || license.features.includes(feature) ? [] : [`It does not license the feature ${feature}.`]),
  ...(revoked.has(license.serial) ? ['It was revoked.'] : []),
]
