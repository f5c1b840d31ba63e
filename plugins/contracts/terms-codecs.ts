import * as t from 'io-ts'
import {
  Base64Bytes,
  described,
  freeText,
  listOf,
  noted,
  optional,
  PathName,
  request,
  SafeInteger,
} from '../kit/codecs.ts'
import { sentProps } from '../kit/fields.ts'
import { contractFields, seconds } from './contract-fields.ts'

/** A new contract gets its product from `products`. */
const { product, ...terms } = sentProps(contractFields)

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
    products: described(listOf(freeText(64), 100), 'The products, each of which gets a contract; at most 100.'),
  },
  'AddContractParams',
)
export const ContractParams = request(
  {
    ...terms,
    ...upload,
    ...effective,
    product,
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
