import { LicenseAuthorityMissing, RevocationListFull } from '../../core/contracts/authorities.ts'
import { LicenseProhibited, QuotaReached } from '../../core/contracts/licenses.ts'
import { FeaturesNotLicensed } from '../../core/contracts/machine-licenses.ts'
import {
  ContractChanged,
  ContractClusterMissing,
  ContractMissing,
  ContractNotUsable,
  ContractRequestInvalid,
  LicenseMissing,
} from '../../core/contracts/ports.ts'
import { anyone, requires, requiresWithin, signedIn, siteAdmin } from '../kit/access.ts'
import { json, text } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  accountInQuery,
  AuthoritiesQuery,
  ContractClusterPath,
  contractInPath,
  InAccount,
  InstallerOptions,
  License,
  LicenseOpts,
  ProxyValues,
} from './codecs.ts'
import { licenseExample } from './contract-wire.ts'

const route = routesOf({
  tag: 'Licensing & Contracts',
  scopeCategory: 'contract',
  failures: [
    ContractChanged,
    ContractMissing,
    ContractClusterMissing,
    LicenseProhibited,
    LicenseAuthorityMissing,
    QuotaReached,
  ],
})
const issueWords =
  'An X.509 certificate in PEM, in base64, valid to the end of the contract. While its content would be ' +
  'the same, the same license is returned again. ' +
  'A revoked, expired or scheduled contract, and one without offline licenses, is 405.'

export const issueLicense = route({
  id: 'contracts.issueLicense',
  method: 'POST',
  path: '/user/contracts/{id}/clusters/{ccID}/issue-license',
  gate: 'vendor-hosted',
  summary: 'Issue the offline license of a bound cluster',
  description: issueWords,
  params: ContractClusterPath,
  query: InAccount,
  access: requires('can_issue_license', contractInPath),
  ok: json(200, License, licenseExample),
})

export const issueAnyLicense = route({
  id: 'contracts.issueAnyLicense',
  method: 'POST',
  path: '/contracts/{id}/clusters/{ccID}/issue-license',
  summary: 'Issue the offline license of a bound cluster of any account',
  description: issueWords,
  params: ContractClusterPath,
  access: siteAdmin,
  ok: json(200, License, licenseExample),
})

export const issueForMachine = route({
  id: 'contracts.issueForMachine',
  method: 'POST',
  path: '/license/issue',
  summary: 'Issue the online license of a cluster, or renew it',
  description:
    'For programs in a cluster. `cluster` is the UID of the namespace kube-system. The contract that ends ' +
    'last is used, of those to which the cluster is bound, ' +
    'that license all `features`, and for which the caller may issue licenses. The license lasts 7 days, ' +
    'at most to the end of the contract. ' +
    'The same one is returned again until half of its life has passed. A cluster that is not bound to such ' +
    'a contract is 404, a feature that is not licensed or a ' +
    'quota that is reached is 403, a contract that is revoked, expired or scheduled is 405.',
  access: signedIn,
  // The token of a robot account is one for its organization; authorization keeps to that.
  servesConfined: true,
  body: body(LicenseOpts, { cluster: '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11', features: ['database-enterprise'] }),
  ok: json(200, License, licenseExample),
  failures: [ContractRequestInvalid, FeaturesNotLicensed],
  statusOf: { ContractRequestInvalid: 422 },
})

export const makeProxyValues = route({
  id: 'contracts.makeProxyValues',
  method: 'POST',
  path: '/user/license-proxy',
  summary: 'Make the values of a license proxy for a cluster that cannot reach this service',
  description:
    'Values for the Helm chart of the proxy, with the offline license of the cluster for each contract, in ' +
    'base64. Write them to a file and install the chart with it. ' +
    'A proxy that can reach this service needs no values from here but its address and the token of a robot account.',
  query: InAccount,
  access: requiresWithin('can_issue_contract_licenses', accountInQuery),
  body: body(InstallerOptions, { clusterID: '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11', contractIDs: [42] }),
  ok: json(200, ProxyValues, { encodedLicenses: { 'database-42': licenseExample.license } }),
  failures: [ContractRequestInvalid, ContractNotUsable],
  statusOf: { ContractRequestInvalid: 422, ContractNotUsable: 422 },
})

const publicRoute = routesOf({ tag: 'Licensing & Contracts', access: anyone })

export const getAuthorities = publicRoute({
  id: 'contracts.getAuthorities',
  method: 'GET',
  path: '/licenses/ca.pem',
  summary: 'Get the certificates of the license authorities, the newest first',
  description:
    'Verifiers trust all of them: licenses of an authority that was replaced stay valid. For a verifier ' +
    'that reads only the first certificate, `license` ' +
    'puts that of the license first. Empty before an authority is set up.',
  query: AuthoritiesQuery,
  ok: text('application/x-pem-file', '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n'),
  failures: [LicenseMissing],
})

export const getRevocations = publicRoute({
  id: 'contracts.getRevocations',
  method: 'GET',
  path: '/licenses/crl.pem',
  summary: 'Get the signed lists of revoked licenses, one for each authority, the newest first',
  description:
    'Revocation lists (RFC 5280) in PEM, made again at most once a minute and valid for 7 days. ' +
    'Authorities that have expired are left out. An authority with more than 50,000 revoked licenses that ' +
    'have not expired is a failure: no list is made without some of them.',
  ok: text('application/x-pem-file', '-----BEGIN X509 CRL-----\n…\n-----END X509 CRL-----\n'),
  failures: [LicenseAuthorityMissing, RevocationListFull],
})
