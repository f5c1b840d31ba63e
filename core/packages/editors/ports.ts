import { defineFailure, type Failure, type Outcome } from '../../kernel/failure.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { MemberCluster, MemberFailure } from '../../clusters/ports.ts'
import type { AppRelease, ResourceEditor, ResourceId } from './types.ts'
import type { ReleaseKey } from '../types.ts'

/** No editor is known for that resource, or none that supports the requested operation. */
export const EditorMissing = defineFailure('EditorMissing', 'Unprocessable', 'No editor exists for the resource.')
/** The editor's chart is not a valid editor chart; the message gives the reason. */
export const EditorUnfit = defineFailure(
  'EditorUnfit',
  'Unprocessable',
  'The chart of the editor renders objects that are not accepted.',
)
/**
 * The options or the model are malformed, or contain something that the editor does not support; `errors` has one line
 * per problem.
 */
export const ModelRefused = defineFailure('ModelRefused', 'Unprocessable', 'The model does not fit the editor.')
/** The caller cannot read an object that the operation needs. */
export const ObjectRefused = defineFailure(
  'ObjectRefused',
  'Forbidden',
  'The cluster does not let the caller read an object of the editor.',
)

/** Finds the editor of a resource. */
export interface EditorCatalog {
  /**
   * Returns the ResourceEditor of the cluster, read as the caller and completed from the built-in one; the built-in one
   * if the cluster has none or does not show it. Makes one request. `resource` has version and plural. Failures:
   * EditorMissing.
   */
  find(
    cluster: MemberCluster,
    resource: ResourceId,
    signal: AbortSignal,
  ): Outcome<Failure<'EditorMissing'> | MemberFailure, ResourceEditor>
}
export const EditorCatalogPort = portKey<EditorCatalog>('packages.EditorCatalog')

/** Read-only access to installations that other programs of the same interface recorded in the cluster. */
export interface AppReleases {
  /** Undefined if the cluster has none or does not show it to the caller. */
  find(cluster: MemberCluster, release: ReleaseKey, signal: AbortSignal): Outcome<MemberFailure, AppRelease | undefined>
}
export const AppReleasesPort = portKey<AppReleases>('packages.AppReleases')
