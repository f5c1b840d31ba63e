import 'reflect-metadata'
import { randomBytes, webcrypto } from 'node:crypto'
import { PemConverter, Pkcs10CertificateRequestGenerator } from '@peculiar/x509'
import { signingRequests, type CertificateSigningRequest } from '../api/kinds.ts'
import { clientSigner, clusterNameLabel, groupOf, managedClustersGroup } from '../api/ocm-names.ts'

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/** The API server cuts the base of a generated name at 58 characters. */
const generatedName = (base: string): string => `${base.slice(0, 58)}${randomBytes(3).toString('hex').slice(0, 5)}`

export interface MadeRequest {
  readonly object: CertificateSigningRequest
  readonly keyPem: string
}

/**
 * 'O must be `system:open-cluster-management:<cluster>` ... (minus optional `...:managed-clusters`) and CN
 * `system:open-cluster-management:<cluster>:<agent>`' (note §5, accept-spoke). Another subject is for tests of a forged
 * one.
 */
export const makeSigningRequest = async (
  cluster: string,
  agent: string,
  subject: { readonly commonName?: string; readonly organizations?: readonly string[] } = {},
): Promise<MadeRequest> => {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const { commonName = `${groupOf(cluster)}:${agent}`, organizations = [groupOf(cluster), managedClustersGroup] } =
    subject
  const request = await Pkcs10CertificateRequestGenerator.create({
    // Both organizations are in one relative name, as the agent writes them.
    name: [{ O: [...organizations] }, { CN: [commonName] }],
    keys,
    signingAlgorithm: algorithm,
  })
  return {
    keyPem: PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY'),
    object: {
      apiVersion: signingRequests.apiVersion,
      kind: signingRequests.kind,
      metadata: { name: generatedName(`${cluster}-`), labels: { [clusterNameLabel]: cluster } },
      spec: {
        signerName: clientSigner,
        request: Buffer.from(request.toString('pem')).toString('base64'),
        usages: ['digital signature', 'key encipherment', 'client auth'],
      },
    },
  }
}
