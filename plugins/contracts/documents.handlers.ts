import { isLeft, right } from 'fp-ts/lib/Either.js'
import { makeOnAnyContract } from '../../core/contracts/administration.ts'
import type { DocumentLink } from '../../core/contracts/ports.ts'
import {
  DocumentRemovalsPort,
  DocumentScannerPort,
  DocumentStorePort,
  ContractStorePort,
  ContractUnitOfWorkPort,
} from '../../core/contracts/ports.ts'
import {
  makeLinkDocument,
  makeOpenDocument,
  makeRemoveDocument,
  makeUploadDocument,
} from '../../core/contracts/documents.ts'
import type { ContractId } from '../../core/contracts/types.ts'
import { IdentityStoresPort } from '../../core/identity/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { LogPort } from '../../core/kernel/log.ts'
import { EntropyPort } from '../../core/kernel/secret.ts'
import { attachment } from '../kit/reply.ts'
import { objectIdOf } from '../kit/access.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { toAdministeredContract } from './contract-wire.ts'
import { linkAnyDocument, linkDocument, openDocument, removeDocument, uploadDocument } from './documents.routes.ts'

/** The documents of contracts. */
export const documentGroup = defineGroup({
  needs: {
    clock: ClockPort,
    contracts: ContractStorePort,
    documents: DocumentStorePort,
    entropy: EntropyPort,
    identity: IdentityStoresPort,
    log: LogPort,
    removals: DocumentRemovalsPort,
    scanner: DocumentScannerPort,
    unitOfWork: ContractUnitOfWorkPort,
  },
  routes: (given) => {
    const deps = { ...given, users: given.identity.users, newRef: () => given.entropy.uuid() }
    const link = makeLinkDocument(deps)
    const onAny = makeOnAnyContract(given)
    const open = makeOpenDocument(given)
    return [
      handle(linkDocument, link, {
        input: ({ grant }) => ({ ownerId: grant.ownerId, id: objectIdOf<ContractId>(grant) }),
      }),
      handle(removeDocument, onAny(makeRemoveDocument(deps)), { input: ({ params }) => params }),
      handle(linkAnyDocument, onAny(link), { input: ({ params }) => params }),
      handle(uploadDocument, onAny(makeUploadDocument(deps)), {
        input: ({ params, body }) => ({ ...params, bytes: body.document, fileName: body.fileName ?? '' }),
        reply: (contract) => toAdministeredContract(contract, given.clock.now()),
      }),
      handle(
        openDocument,
        async (call, asked: DocumentLink) => {
          const opened = await open(call, asked)
          return isLeft(opened) ? opened : right({ ...asked, bytes: opened.right })
        },
        {
          input: ({ params, query }) => ({
            ref: params.ref,
            expires: query.expires,
            fileName: query.name,
            mediaType: query.type,
            signature: query.signature,
          }),
          reply: ({ bytes, mediaType, fileName }) => ({
            contentType: mediaType,
            bytes,
            headers: {
              'Content-Disposition': attachment(fileName),
              'Cache-Control': 'private, no-store',
              'Content-Security-Policy': "default-src 'none'; sandbox",
            },
          }),
        },
      ),
    ]
  },
})
