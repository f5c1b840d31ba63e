import * as t from 'io-ts'
import { quotaMetrics } from '../../core/contracts/types.ts'
import { answer, Base64Bytes, Float, freeText, int32, listOf, noted, oneOf, optional, PathName, request, SafeInteger } from '../kit/codecs.ts'
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

export const AddContractParams = request({ ...terms, orgOrUser: PathName, products: listOf(word, 100) }, 'AddContractParams')
export const ContractParams = request({ ...terms, product: optional(word) }, 'ContractParams')
export const ExtendContractParams = request({ end: seconds }, 'ExtendContractParams')
export const DocumentParams = request({ document: noted(Base64Bytes, { description: 'The bytes, at most 25 MB.' }), fileName: optional(freeText(255)) }, 'ContractDocumentParams')

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
