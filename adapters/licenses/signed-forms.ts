import type { KeyObject } from 'node:crypto'
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign, X509Certificate } from 'node:crypto'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  CertificateList,
  CRLNumber,
  CRLReason,
  CRLReasons,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_cRLNumber,
  id_ce_cRLReasons,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_clientAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  RevokedCertificate,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  TBSCertList,
  Time,
  Validity,
  Version,
} from '@peculiar/asn1-x509'
import type { LicenseContent, RevokedSerial } from '../../core/contracts/ports.ts'

/**
 * Licenses and revocation lists as ASN.1, each built and encoded once. The generators of @peculiar/x509 encode and
 * parse each part several times, and compare each entry of a list with all others.
 */

/** An authority whose certificate and key were read. */
interface Issuer {
  readonly name: Name
  readonly keyIdentifier: Extension
  readonly algorithm: AlgorithmIdentifier
  sign(bytes: ArrayBuffer): ArrayBuffer
}

const extension = (extnID: string, critical: boolean, value: object): Extension =>
  new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) })

const algorithmOf = ({
  asymmetricKeyType,
  asymmetricKeyDetails,
}: KeyObject): { readonly hash: string | null; readonly identifier: AlgorithmIdentifier } => {
  if (asymmetricKeyType === 'ed25519')
    return { hash: null, identifier: new AlgorithmIdentifier({ algorithm: '1.3.101.112' }) }
  if (asymmetricKeyType === 'rsa')
    return {
      hash: 'sha256',
      identifier: new AlgorithmIdentifier({ algorithm: '1.2.840.113549.1.1.11', parameters: null }),
    }
  const isP384 = asymmetricKeyDetails?.namedCurve === 'secp384r1'
  return {
    hash: isP384 ? 'sha384' : 'sha256',
    identifier: new AlgorithmIdentifier({ algorithm: `1.2.840.10045.4.3.${isP384 ? 3 : 2}` }),
  }
}

/** An authority of the operator's own may have another key identifier than the digest of its key. */
const keyIdentifierOf = ({ tbsCertificate: { extensions, subjectPublicKeyInfo } }: Certificate): ArrayBuffer => {
  const known = extensions?.find(({ extnID }) => extnID === id_ce_subjectKeyIdentifier)
  if (known !== undefined) return AsnConvert.parse(known.extnValue, SubjectKeyIdentifier).buffer
  // The first method of RFC 7093.
  return new Uint8Array(
    createHash('sha256').update(new Uint8Array(subjectPublicKeyInfo.subjectPublicKey)).digest().subarray(0, 20),
  ).buffer
}

const readIssuer = (certificatePem: string, keyPem: string): Issuer => {
  const certificate = AsnConvert.parse(new Uint8Array(new X509Certificate(certificatePem).raw), Certificate)
  const key = createPrivateKey(keyPem)
  const { hash, identifier } = algorithmOf(createPublicKey(key))
  return {
    name: certificate.tbsCertificate.subject,
    keyIdentifier: extension(
      id_ce_authorityKeyIdentifier,
      false,
      new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(keyIdentifierOf(certificate)) }),
    ),
    algorithm: identifier,
    sign: (bytes) => new Uint8Array(sign(hash, new Uint8Array(bytes), key)).buffer,
  }
}

const issuers = new Map<string, Issuer>()

/** The present authority is read once for each thread. */
const issuerOf = (certificatePem: string, keyPem: string): Issuer => {
  const id = createHash('sha256').update(certificatePem).update(keyPem).digest('hex')
  const known = issuers.get(id)
  if (known !== undefined) return known
  issuers.clear()
  const issuer = readIssuer(certificatePem, keyPem)
  issuers.set(id, issuer)
  return issuer
}

const attribute = (type: string, utf8String: string): RelativeDistinguishedName =>
  new RelativeDistinguishedName([new AttributeTypeAndValue({ type, value: new AttributeValue({ utf8String }) })])

/** The product line is the business category. Earlier releases had it as country, which X.520 bounds to two letters. */
const subjectOf = ({ clusterUid, features, plan, productLine, tier, flags }: LicenseContent): Name =>
  new Name([
    attribute('2.5.4.15', productLine),
    attribute('2.5.4.8', tier),
    ...Object.entries(flags).map(([key, value]) => attribute('2.5.4.7', `${key}=${value}`)),
    ...features.map((feature) => attribute('2.5.4.10', feature)),
    attribute('2.5.4.11', plan),
    attribute('2.5.4.3', clusterUid),
  ])

const alternativeNames = ({ clusterUid, licensee }: LicenseContent): Extension =>
  extension(
    id_ce_subjectAltName,
    false,
    new SubjectAlternativeName([
      new GeneralName({ dNSName: clusterUid }),
      ...(licensee === '' ? [] : [new GeneralName({ rfc822Name: licensee })]),
    ]),
  )

/** Those that are equal in all licenses. */
const commonExtensions = [
  extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: false })),
  extension(id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.digitalSignature)),
  extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage([id_kp_clientAuth])),
]

/** The key is made for this certificate and thrown away. */
const newPublicKey = (): SubjectPublicKeyInfo =>
  AsnConvert.parse(
    new Uint8Array(
      generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'der' }),
    ),
    SubjectPublicKeyInfo,
  )

const bytesOf = (hexadecimal: string): ArrayBuffer => new Uint8Array(Buffer.from(hexadecimal, 'hex')).buffer

const pemOf = (label: string, der: ArrayBuffer): string => {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

/** Returns a license in PEM. The serial number is hexadecimal, without a leading bit. */
export const signLicense = (
  certificatePem: string,
  keyPem: string,
  serial: string,
  content: LicenseContent,
): string => {
  const issuer = issuerOf(certificatePem, keyPem)
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: bytesOf(serial),
    signature: issuer.algorithm,
    issuer: issuer.name,
    validity: new Validity({ notBefore: content.notBefore, notAfter: content.notAfter }),
    subject: subjectOf(content),
    subjectPublicKeyInfo: newPublicKey(),
    extensions: new Extensions([...commonExtensions, alternativeNames(content), issuer.keyIdentifier]),
  })
  const tbsCertificateRaw = AsnConvert.serialize(tbsCertificate)
  return pemOf(
    'CERTIFICATE',
    AsnConvert.serialize(
      new Certificate({
        tbsCertificate,
        tbsCertificateRaw,
        signatureAlgorithm: issuer.algorithm,
        signatureValue: issuer.sign(tbsCertificateRaw),
      }),
    ),
  )
}

/** OpenSSL refuses an entry with an empty list of extensions. */
const entryExtensions = [extension(id_ce_cRLReasons, false, new CRLReason(CRLReasons.cessationOfOperation))]

/** RFC 5280 wants a number that grows with each list of an authority: the time of its making, in milliseconds. */
const listNumber = (thisUpdate: Date): Extension =>
  extension(id_ce_cRLNumber, false, new CRLNumber(thisUpdate.getTime()))

/** Returns a revocation list in PEM. Serial numbers are in decimal digits. */
export const signList = (
  certificatePem: string,
  keyPem: string,
  revoked: readonly RevokedSerial[],
  thisUpdate: Date,
  nextUpdate: Date,
): string => {
  const issuer = issuerOf(certificatePem, keyPem)
  const entries = revoked.map(
    ({ serial, at }) =>
      new RevokedCertificate({
        userCertificate: bytesOf(BigInt(serial).toString(16).padStart(32, '0')),
        revocationDate: new Time(at),
        crlEntryExtensions: entryExtensions,
      }),
  )
  const tbsCertList = new TBSCertList({
    version: Version.v2,
    signature: issuer.algorithm,
    issuer: issuer.name,
    thisUpdate: new Time(thisUpdate),
    nextUpdate: new Time(nextUpdate),
    crlExtensions: new Extensions([issuer.keyIdentifier, listNumber(thisUpdate)]),
    ...(entries.length === 0 ? {} : { revokedCertificates: entries }),
  })
  const signature = issuer.sign(AsnConvert.serialize(tbsCertList))
  return pemOf(
    'X509 CRL',
    AsnConvert.serialize(new CertificateList({ tbsCertList, signatureAlgorithm: issuer.algorithm, signature })),
  )
}
