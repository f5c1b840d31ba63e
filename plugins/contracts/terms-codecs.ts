import * as t from 'io-ts'
import { quotaMetrics } from '../../core/contracts/types.ts'
import {
  Base64Bytes,
  described,
  Float,
  freeText,
  int32,
  listOf,
  noted,
  oneOf,
  optional,
  PathName,
  request,
  SafeInteger,
  textLines,
} from '../kit/codecs.ts'
import { recipientWords, seconds } from './codecs.ts'

const addresses = (list: keyof typeof recipientWords) =>
  described(
    optional(listOf(freeText(256), 200)),
    `${recipientWords[list]} At most 50 mail addresses; by default they do not change, and are empty in a ` +
      'new contract.',
  )
const Emails = request(
  {
    contactPerson: addresses('contactPerson'),
    signingAuthority: addresses('signingAuthority'),
    licenseUsers: addresses('licenseUsers'),
    financeTeam: addresses('financeTeam'),
    usageAlertClient: addresses('usageAlertClient'),
    usageAlertAdmin: addresses('usageAlertAdmin'),
  },
  'ContractEmailParams',
)
const Quota = request(
  {
    enabled: described(optional(t.boolean), 'Whether the contract has a limit. By default false.'),
    metric: described(
      optional(oneOf(...quotaMetrics)),
      'What is limited in a calendar month: memory in GiB-months, the default, or CPU in core-months.',
    ),
    limit: described(
      optional(Float),
      'The quantity that is included in a calendar month, up to 10^12; above 0 if the quota is enabled.',
    ),
    alertThresholds: described(
      optional(listOf(int32(0), 100)),
      'When mails are sent, in percent of the limit: at most 10 integers from 1 to 1000; none by default.',
    ),
    disableLicenseOnLimitReached: described(
      optional(t.boolean),
      'Whether no license is issued from when the limit is reached until the month ends. By default false.',
    ),
  },
  'QuotaRuleParams',
)
const word = freeText(64)

const terms = {
  name: described(optional(freeText(255)), 'The name of the contract, at most 255 characters.'),
  features: described(
    optional(listOf(word, 200)),
    'The features that licenses are for: 1 to 100 words of lower-case letters, digits, `-` and `.`, at ' +
      'most 64 characters each.',
  ),
  emails: described(optional(Emails), 'The mail addresses of the people whom the contract names.'),
  quota: described(optional(Quota), 'What the contract includes in a calendar month; no limit by default.'),
  start: described(
    optional(SafeInteger),
    'The first instant at which the contract is in force, in seconds since the epoch, UTC, from 0. A new ' +
      'contract needs it.',
  ),
  end: described(
    optional(SafeInteger),
    'The instant just before which the contract ends, in seconds since the epoch, UTC: after `start`, and ' +
      'before the year 9999. A new contract needs it.',
  ),
  allowOffline: described(
    optional(t.boolean),
    'Whether licenses that last to the end of the contract are issued. By default false.',
  ),
  autoAssignCluster: described(
    optional(t.boolean),
    'Whether clusters that the owner imports are bound without a request. By default false.',
  ),
  disableAnalytics: described(
    optional(t.boolean),
    'Whether licenses tell products to send no analytics. By default false.',
  ),
  enableClientBilling: described(
    optional(t.boolean),
    'Whether the owner may read the usage of each namespace, to bill its own clients. By default false.',
  ),
  allowTrials: optional(
    noted(t.boolean, { description: 'Objects may be trials: their first month is not billed. By default false.' }),
  ),
  maxTrials: optional(
    noted(int32(0), {
      description:
        'How many objects are trials under the contract at most, over its whole life. At most 1,000,000; ' +
        'by default 10.',
    }),
  ),
  restrictions: described(
    optional(textLines(4000)),
    'The text of a JSON object for the products; `offlineTtlDays` in it limits offline licenses to 1 to ' +
      '36,500 days. Empty by default.',
  ),
}

/** From when on a change of the terms counts. */
const effective = {
  effectiveFrom: optional(
    noted(SafeInteger, {
      description:
        'The second since the epoch, UTC, from which on the change counts; by default now. An earlier one ' +
        'needs `reopen`.',
    }),
  ),
  reopen: optional(
    noted(t.boolean, {
      description:
        'Allows `effectiveFrom` to be in the past. Months that are final do not change until they are opened again.',
    }),
  ),
}

const upload = {
  document: optional(noted(Base64Bytes, { description: 'The bytes of the document, at most 25 MiB.' })),
  fileName: optional(noted(freeText(255), { description: 'The name of the document.' })),
}

export const AddContractParams = request(
  {
    ...terms,
    ...upload,
    orgOrUser: described(PathName, 'The login of the user or organization that will own the contracts.'),
    products: described(listOf(word, 100), 'The products, each of which gets a contract; at most 100.'),
  },
  'AddContractParams',
)
export const ContractParams = request(
  {
    ...terms,
    ...upload,
    ...effective,
    product: described(optional(word), 'The product that the contract is for, at most 64 characters.'),
  },
  'ContractParams',
)
/** The fields of a form with the terms of contracts that hold JSON. */
export const jsonTerms = [
  'products',
  'features',
  'emails',
  'quota',
  'start',
  'end',
  'allowOffline',
  'autoAssignCluster',
  'disableAnalytics',
  'enableClientBilling',
  'allowTrials',
  'maxTrials',
  'effectiveFrom',
  'reopen',
] as const
/** The limit in bytes of a document of 25 MiB in base64 and the JSON around it. */
export const documentBodyBytes = 35_100_000
export const ExtendContractParams = request(
  { end: seconds('The new instant just before which the contract ends, later than the present one'), ...effective },
  'ExtendContractParams',
)
export const DocumentParams = request(
  {
    document: noted(Base64Bytes, { description: 'The bytes, at most 25 MB.' }),
    fileName: described(
      optional(freeText(255)),
      'The name under which the document is downloaded; by default that of the uploaded file.',
    ),
  },
  'ContractDocumentParams',
)
