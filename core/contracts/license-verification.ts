import type { ReadLicense } from './types.ts'

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
