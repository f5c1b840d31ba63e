import type { Contract } from '../../../core/contracts/types.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, orElse, qualified, without } from '../kit/columns.ts'
import type { ObjectRows } from '../kit/object-rows.ts'
import { contractClusters, contractClusterTags, contracts } from '../tables/contracts.ts'
import { accounts } from '../tables/identity.ts'
import { datedFields, termsInForce } from './terms-in-force.ts'

/** Where the objects of this part's types are. An account with contracts cannot be deleted. */
export const contractObjectRows: ObjectRows = {
  type: 'contract',
  table: 'contracts',
  owner: 'owner_id',
  keepsAccount: true,
}

/** A contract `c` with its owner `a`, and with the terms that are in force. */
export const contractRow = {
  ...qualified(
    without(contracts, ...datedFields, 'termsNumber', 'termsFrom', 'termsRecordedAt', 'termsRecordedBy', 'updatedAt'),
    'c',
  ),
  ...termsInForce,
  ownerName: aliased(accounts, 'a').name,
}
type ContractRow = Row<typeof contractRow>

/** Returns a contract from its row. A reminder of another end than the present one is none. */
export const contractOf = ({
  documentRef: ref,
  documentName: fileName,
  documentType: mediaType,
  documentSize: size,
  remindedFirstAt,
  remindedLastAt,
  remindedEndsAt,
  ...contract
}: ContractRow): Contract => {
  const isReminded = remindedEndsAt?.getTime() === contract.endsAt.getTime()
  return {
    ...contract,
    document: ref === '' ? undefined : { ref, fileName, mediaType, size },
    remindedAt45Days: isReminded ? remindedFirstAt : undefined,
    remindedAt10Days: isReminded ? remindedLastAt : undefined,
  }
}

/** A binding `b` with the tags of its cluster `t`. */
export const bindingRow = {
  ...aliased(contractClusters, 'b'),
  tags: orElse(aliased(contractClusterTags, 't').tags, []),
}
