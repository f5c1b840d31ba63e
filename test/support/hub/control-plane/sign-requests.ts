import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  Pkcs10CertificateRequest,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'
import type { CertificateFiles } from '../../components/client-certificate.ts'
import { signingRequests, type CertificateSigningRequest } from '../api/kinds.ts'
import { clientSigner, clusterNameLabel } from '../api/ocm-names.ts'
import { watchObjects } from '../api/watched-objects.ts'
import type { HubFixture } from '../controllers/hub-fixture.ts'

const yearSeconds = 31_536_000
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/**
 * 'kube-controller-manager signs the CSR' (note §5, accept-spoke); a bare server leaves it 'Approved but no
 * certificate' (note §12). Only requests that name one of our clusters are signed.
 */
export const runRequestSigner = (fixture: HubFixture, authority: CertificateFiles): void => {
  const { client, owns, signal } = fixture
  const { add } = fixture.reconciler({
    name: 'certificate signing request',
    reconcile: async (name) => {
      const request = await client.get(signingRequests, name)
      if (request === undefined || !isSignable(request)) return
      const certificate = Buffer.from(await sign(request, authority)).toString('base64')
      await client.patch(
        signingRequests,
        request,
        { metadata: { resourceVersion: request.metadata.resourceVersion }, status: { certificate } },
        { subresource: 'status' },
      )
    },
  })
  watchObjects<CertificateSigningRequest>(client, signingRequests, {
    selection: { labelSelector: clusterNameLabel },
    keeps: ({ metadata }) => owns(metadata.labels?.[clusterNameLabel] ?? ''),
    onChange: (request, isGone) => {
      if (!isGone && isSignable(request)) add(request.metadata.name)
    },
    signal,
  })
}

const isSignable = ({ spec, status }: CertificateSigningRequest): boolean => {
  const types = (status?.conditions ?? []).map(({ type }) => type)
  return (
    spec.signerName === clientSigner &&
    types.includes('Approved') &&
    !types.includes('Denied') &&
    status?.certificate === undefined
  )
}

const sign = async ({ spec }: CertificateSigningRequest, authority: CertificateFiles): Promise<string> => {
  const request = new Pkcs10CertificateRequest(Buffer.from(spec.request, 'base64').toString())
  const issuer = new X509Certificate(await readFile(authority.certificatePath, 'utf8'))
  const [keyBytes] = PemConverter.decode(await readFile(authority.keyPath, 'utf8'))
  if (keyBytes === undefined) throw new Error('the key of the client authority cannot be read')
  const now = Date.now()
  const certificate = await X509CertificateGenerator.create({
    subject: request.subjectName,
    issuer: issuer.subjectName,
    publicKey: await request.publicKey.export(),
    signingKey: await webcrypto.subtle.importKey('pkcs8', keyBytes, algorithm, false, ['sign']),
    signingAlgorithm: algorithm,
    notBefore: new Date(now - 60_000),
    notAfter: new Date(Math.min(now + (spec.expirationSeconds ?? yearSeconds) * 1_000, issuer.notAfter.getTime())),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth]),
    ],
  })
  return `${certificate.toString('pem')}\n`
}
