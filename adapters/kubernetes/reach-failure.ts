import { AddressRefused, ClusterUnreachable, type ReachFailure } from '../../core/clusters/ports.ts'
import { EgressRefused } from '../outbound/egress-policy.ts'

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The cluster refuses connections at its address.',
  ECONNRESET: 'The cluster closed the connection.',
  EHOSTUNREACH: 'There is no way to the cluster from here.',
  ENETUNREACH: 'There is no way to the cluster from here.',
  ENOTFOUND: "The name of the cluster's API server does not resolve.",
  EAI_AGAIN: "The name of the cluster's API server does not resolve at the moment.",
  ETIMEDOUT: 'The cluster did not answer in time.',
  UND_ERR_CONNECT_TIMEOUT: 'The cluster did not answer in time.',
  UND_ERR_HEADERS_TIMEOUT: 'The cluster did not answer in time.',
  UND_ERR_BODY_TIMEOUT: 'The cluster did not answer in time.',
  UND_ERR_SOCKET: 'The cluster closed the connection.',
  CERT_HAS_EXPIRED: "The cluster's certificate has expired.",
  ERR_TLS_CERT_ALTNAME_INVALID: "The cluster's certificate is for another name than the address in the access config.",
  SELF_SIGNED_CERT_IN_CHAIN: "The cluster's certificate is not signed by the authority in the access config.",
  DEPTH_ZERO_SELF_SIGNED_CERT: "The cluster's certificate is not signed by the authority in the access config.",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "The cluster's certificate is not signed by the authority in the access config.",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "The cluster's certificate is not signed by the authority in the access config.",
}

const chain = (error: unknown): readonly unknown[] => {
  const links: unknown[] = []
  for (let at = error; at instanceof Error && links.length < 5; at = at.cause) {
    links.push(at)
    if (at instanceof AggregateError) links.push(...at.errors)
  }
  return links
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** A driver's error in plain words; its own text, which may name our network, stays out. */
export const toReachFailure = (error: unknown): ReachFailure => {
  const links = chain(error)
  const refused = links.find((link) => link instanceof EgressRefused)
  if (refused !== undefined) return AddressRefused(refused.message)
  const said = links.map(codeOf).map((code) => (code === undefined ? undefined : words[code])).find((word) => word !== undefined)
  return ClusterUnreachable(said ?? 'The cluster could not be reached.')
}
