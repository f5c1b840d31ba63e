import * as t from 'io-ts'
import type { ContractDraft } from '../../core/contracts/contract-rules.ts'
import type { ContractEmails, ContractQuota, ContractTerms } from '../../core/contracts/types.ts'
import { newTerms, quotaMetrics } from '../../core/contracts/types.ts'
import { unixSeconds } from '../../core/kernel/clock.ts'
import { pickFields } from '../../core/kernel/json.ts'
import {
  answer,
  described,
  Float,
  freeText,
  int32,
  listOf,
  oneOf,
  request,
  SafeInteger,
  textLines,
} from '../kit/codecs.ts'
import type { Audience } from '../kit/fields.ts'
import { draftOf, exampleOf, field, fieldsOf, mappedField, sentProps, shownOf, shownProps } from '../kit/fields.ts'

/*
 * What a site admin decides about a contract, each field once: docs/fields.md says what follows from it.
 */

const texts = t.readonlyArray(t.string)
const word = freeText(64)

const secondsWords = (meaning: string): string => `${meaning}, in seconds since the epoch, UTC.`

/** An instant in seconds since the epoch, UTC. */
export const seconds = (meaning: string) => described(SafeInteger, secondsWords(meaning))

/** The instant of seconds since the epoch. */
export const instantOf = (at: number): Date => new Date(at * 1000)

interface RecipientOptions {
  readonly example?: readonly string[]
  readonly seenBy?: Audience
}

const recipients = <const W extends string>(
  wire: W,
  meaning: string,
  { example = [], seenBy = 'owner' }: RecipientOptions = {},
) =>
  field({
    wire,
    sent: listOf(freeText(256), 200),
    sentWords: `${meaning} At most 50 mail addresses; by default they do not change, and are empty in a new contract.`,
    shown: texts,
    shownWords: meaning,
    example,
    seenBy,
  })

/** An instant that is sent and shown in seconds since the epoch. */
const instantField = <const W extends string>(
  wire: W,
  { sentWords, meaning, example }: { readonly sentWords: string; readonly meaning: string; readonly example: number },
) =>
  mappedField(
    { wire, sent: SafeInteger, sentWords, shown: SafeInteger, shownWords: secondsWords(meaning), example },
    unixSeconds,
    instantOf,
  )

/** The lists of recipients. */
const emailFields = fieldsOf<ContractEmails>()({
  contactPerson: recipients('contactPerson', 'The contact persons of the contract.', { example: ['ann@example.com'] }),
  signingAuthority: recipients('signingAuthority', 'The persons who sign the contract.'),
  licenseUsers: recipients(
    'licenseUsers',
    'The persons in whose name licenses are issued; they are reminded of the end of the contract.',
  ),
  financeTeam: recipients('financeTeam', 'The persons who are notified when the usage of a month is final.'),
  usageAlertClient: recipients(
    'usageAlertClient',
    'The persons of the owner who are notified when a threshold of the quota is reached.',
    { example: ['ops@example.com'] },
  ),
  usageAlertAdmin: recipients(
    'usageAlertAdmin',
    'The persons of the vendor who are notified when a threshold of the quota is reached. Only site admins see them.',
    { example: ['sales@vendor.example'], seenBy: 'site-admin' },
  ),
})

const quotaFields = fieldsOf<ContractQuota>()({
  enabled: field({
    wire: 'enabled',
    sent: t.boolean,
    sentWords: 'Whether the contract has a limit. By default false.',
    shown: t.boolean,
    shownWords: 'The contract has a limit. Without one, the other fields have no effect.',
    example: true,
  }),
  metric: field({
    wire: 'metric',
    sent: oneOf(...quotaMetrics),
    sentWords: 'What is limited in a calendar month: memory in GiB-months, the default, or CPU in core-months.',
    shown: t.string,
    shownWords: 'What is limited in a calendar month: `memory_gib_month` or `cpu_core_month`.',
    example: 'memory_gib_month',
  }),
  limit: field({
    wire: 'limit',
    sent: Float,
    sentWords: 'The quantity that is included in a calendar month, up to 10^12; above 0 if the quota is enabled.',
    shown: Float,
    shownWords: 'The quantity that is included in a calendar month, in GiB-months or core-months.',
    example: 512,
  }),
  alertThresholds: field({
    wire: 'alertThresholds',
    sent: listOf(int32(0), 100),
    sentWords: 'When mails are sent, in percent of the limit: at most 10 integers from 1 to 1000; none by default.',
    shown: t.readonlyArray(SafeInteger),
    shownWords: 'When mails are sent, in percent of the limit.',
    example: [80, 100],
  }),
  disableLicenseOnLimitReached: field({
    wire: 'disableLicenseOnLimitReached',
    sent: t.boolean,
    sentWords: 'Whether no license is issued from when the limit is reached until the month ends. By default false.',
    shown: t.boolean,
    shownWords: 'No license is issued from when the limit is reached until the month ends.',
    example: false,
  }),
})

const ContractEmail = answer(shownProps(emailFields, 'owner'), 'ContractEmail')
export const AdministeredContractEmail = answer(shownProps(emailFields, 'site-admin'), 'AdministeredContractEmail')
const QuotaRule = answer(shownProps(quotaFields, 'owner'), 'QuotaRule')

/** All that a site admin decides about a contract. */
export const contractFields = fieldsOf<ContractTerms, ContractDraft>()({
  name: field({
    wire: 'name',
    sent: freeText(255),
    sentWords: 'The name of the contract, at most 255 characters.',
    shown: t.string,
    shownWords: 'The name of the contract.',
    example: 'Databases 2026',
  }),
  product: field({
    wire: 'product',
    sent: word,
    sentWords: 'The product that the contract is for, at most 64 characters.',
    shown: t.string,
    shownWords: 'The product that the contract is for.',
    example: 'database',
  }),
  features: field({
    wire: 'features',
    sent: listOf(word, 200),
    sentWords:
      'The features that licenses are for: 1 to 100 words of lower-case letters, digits, `-` and `.`, at ' +
      'most 64 characters each.',
    shown: texts,
    shownWords: 'The features that its licenses are for.',
    example: ['database-enterprise'],
  }),
  emails: mappedField(
    {
      wire: 'emails',
      sent: request(sentProps(emailFields), 'ContractEmailParams'),
      sentWords: 'The mail addresses of the people whom the contract names.',
      shown: ContractEmail,
      shownWords: 'The mail addresses of the people whom the contract names.',
      example: exampleOf(emailFields, 'owner'),
    },
    (emails: ContractEmails) => shownOf(emailFields, emails, 'owner'),
    (sent) => draftOf(emailFields, sent),
  ),
  quota: mappedField(
    {
      wire: 'quota',
      sent: request(sentProps(quotaFields), 'QuotaRuleParams'),
      sentWords: 'What the contract includes in a calendar month; no limit by default.',
      shown: QuotaRule,
      shownWords: 'What the contract includes in a calendar month.',
      example: exampleOf(quotaFields, 'owner'),
    },
    (quota: ContractQuota) => shownOf(quotaFields, quota, 'owner'),
    (sent) => draftOf(quotaFields, sent),
  ),
  startsAt: instantField('start', {
    sentWords:
      'The first instant at which the contract is in force, in seconds since the epoch, UTC, from 0. A new ' +
      'contract needs it.',
    meaning: 'The first instant at which the contract is in force',
    example: 1767225600,
  }),
  endsAt: instantField('end', {
    sentWords:
      'The instant just before which the contract ends, in seconds since the epoch, UTC: after `start`, and ' +
      'before the year 9999. A new contract needs it.',
    meaning: 'The instant just before which the contract ends',
    example: 1798761600,
  }),
  allowsOffline: field({
    wire: 'allowOffline',
    sent: t.boolean,
    sentWords: 'Whether licenses that last to the end of the contract are issued. By default false.',
    shown: t.boolean,
    shownWords: 'Licenses that last to the end of the contract are issued.',
    example: true,
  }),
  bindsNewClusters: field({
    wire: 'autoAssignCluster',
    sent: t.boolean,
    sentWords: 'Whether clusters that the owner imports are bound without a request. By default false.',
    shown: t.boolean,
    shownWords: 'Clusters that the owner imports are bound to the contract without a request.',
    example: false,
  }),
  disablesAnalytics: field({
    wire: 'disableAnalytics',
    sent: t.boolean,
    sentWords: 'Whether licenses tell products to send no analytics. By default false.',
    shown: t.boolean,
    shownWords: 'Licenses tell products to send no analytics.',
    example: false,
  }),
  enablesClientBilling: field({
    wire: 'enableClientBilling',
    sent: t.boolean,
    sentWords: 'Whether the owner may read the usage of each namespace, to bill its own clients. By default false.',
    shown: t.boolean,
    shownWords: 'The owner may read the usage of each namespace, to bill its own clients.',
    example: false,
  }),
  allowsTrials: field({
    wire: 'allowTrials',
    sent: t.boolean,
    sentWords: 'Objects may be trials: their first month is not billed. By default false.',
    shown: t.boolean,
    shownWords: 'Objects may be trials: their first month is not billed.',
    example: false,
  }),
  maxTrials: field({
    wire: 'maxTrials',
    sent: int32(0),
    sentWords:
      'How many objects are trials under the contract at most, over its whole life. At most 1,000,000; by default 10.',
    shown: SafeInteger,
    shownWords: 'How many objects are trials under the contract at most, over its whole life.',
    example: 10,
  }),
  restrictions: field({
    wire: 'restrictions',
    sent: textLines(4000),
    sentWords:
      'The text of a JSON object for the products; `offlineTtlDays` in it limits offline licenses to 1 to ' +
      '36,500 days. Empty by default.',
    shown: t.string,
    shownWords:
      'The text of a JSON object for the products; empty if there is none. This service reads `offlineTtlDays` of it.',
    example: '',
  }),
})

/** The fields whose changes count from an instant on. */
export const datedFields = pickFields(newTerms, contractFields)

/** Returns the recipients as a site admin sees them. */
export const administeredEmails = (emails: ContractEmails) => shownOf(emailFields, emails, 'site-admin')
export const administeredEmailsExample = exampleOf(emailFields, 'site-admin')
