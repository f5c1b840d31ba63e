import * as t from 'io-ts'
import { type ContractId, quotaMetrics } from '../../core/contracts/types.ts'
import { answer, Base64Bytes, Float, freeText, Instant, int32, listOf, noted, oneOf, optional, pathId, PathName, patternText, request, SafeInteger } from '../kit/codecs.ts'
import { Contract } from './codecs.ts'

/** Beside the account of a site admin's own, `org` narrows a list to one account. */
export const OfAccount = request({ org: optional(PathName) }, 'ContractsOfAccount')

const addresses = optional(listOf(freeText(256), 200))
const Emails = request(
  { contactPerson: addresses, signingAuthority: addresses, licenseUsers: addresses, financeTeam: addresses, usageAlertClient: addresses, usageAlertAdmin: addresses },
  'ContractEmailParams',
)
const Quota = request(
  {
    enabled: optional(t.boolean),
    metric: optional(oneOf(...quotaMetrics)),
    limit: optional(Float),
    alertThresholds: optional(listOf(int32(0), 100)),
    disableLicenseOnLimitReached: optional(t.boolean),
  },
  'QuotaRuleParams',
)
const word = freeText(64)
const seconds = noted(SafeInteger, { description: 'Seconds since the epoch, UTC.' })

const terms = {
  name: optional(freeText(255)),
  features: optional(listOf(word, 200)),
  emails: optional(Emails),
  quota: optional(Quota),
  start: optional(seconds),
  end: optional(seconds),
  allowOffline: optional(t.boolean),
  autoAssignCluster: optional(t.boolean),
  disableAnalytics: optional(t.boolean),
  enableClientBilling: optional(t.boolean),
  restrictions: optional(freeText(4000)),
}

const upload = {
  document: optional(noted(Base64Bytes, { description: 'The bytes of the document, at most 25 MiB.' })),
  fileName: optional(noted(freeText(255), { description: 'The name of the document.' })),
}

export const AddContractParams = request({ ...terms, ...upload, orgOrUser: PathName, products: listOf(word, 100) }, 'AddContractParams')
export const ContractParams = request({ ...terms, ...upload, product: optional(word) }, 'ContractParams')
/** The fields of a form with the terms of contracts that hold JSON. */
export const jsonTerms = ['products', 'features', 'emails', 'quota', 'start', 'end', 'allowOffline', 'autoAssignCluster', 'disableAnalytics', 'enableClientBilling'] as const
/** The limit in bytes of a document of 25 MiB in base64 and the JSON around it. */
export const documentBodyBytes = 35_100_000
export const ExtendContractParams = request({ end: seconds }, 'ExtendContractParams')
export const DocumentParams = request({ document: noted(Base64Bytes, { description: 'The bytes, at most 25 MB.' }), fileName: optional(freeText(255)) }, 'ContractDocumentParams')

export const LicensePath = request({ id: pathId<ContractId>(), serial: patternText(/^[0-9]{1,48}$/, 48, 'a serial number in decimal digits') }, 'ContractLicensePath')
export const IssuedLicense = answer(
  {
    serial: t.string,
    cluster: noted(t.string, { description: 'The UID of the namespace kube-system.' }),
    kind: oneOf('offline', 'online'),
    notBefore: Instant,
    notAfter: Instant,
    issuedAt: Instant,
    issuedBy: t.string,
    revokedAt: optional(Instant),
  },
  'IssuedLicense',
)

/** The names of the fields are those of the programs that read it. */
export const PlanInfo = answer(
  {
    DisplayName: t.string,
    ProductLine: t.string,
    TierName: t.string,
    TwitterHandle: t.string,
    QuickstartLink: t.string,
    Features: t.readonlyArray(t.string),
    MailingLists: t.readonlyArray(t.string),
  },
  'PlanInfo',
)

/** A contract as a site admin sees it. */
export const AdministeredContract = answer(
  {
    ...Contract.props,
    emails: answer(
      {
        contactPerson: t.readonlyArray(t.string),
        signingAuthority: t.readonlyArray(t.string),
        licenseUsers: t.readonlyArray(t.string),
        financeTeam: t.readonlyArray(t.string),
        usageAlertClient: t.readonlyArray(t.string),
        usageAlertAdmin: t.readonlyArray(t.string),
      },
      'AdministeredContractEmail',
    ),
    Reminder45DaysSentUnix: noted(SafeInteger, { description: 'Seconds since the epoch; 0 means never.' }),
    Reminder10DaysSentUnix: noted(SafeInteger, { description: 'Seconds since the epoch; 0 means never.' }),
  },
  'AdministeredContract',
)
