import { defineFailure, type Failure, type Outcome } from '../../kernel/failure.ts'
import { token } from '../../kernel/token.ts'
import type { MemberCluster, MemberFailure } from '../../clusters/ports.ts'
import type { AppRelease, ResourceEditor, ResourceId } from './types.ts'
import type { ReleaseKey } from '../types.ts'

/** Nothing here knows how to edit that resource, or not in the way that was asked for. */
export const EditorMissing = defineFailure('EditorMissing', 'Unprocessable')
/** The editor's chart is not made as an editor's chart must be; the message says what is amiss. */
export const EditorUnfit = defineFailure('EditorUnfit', 'Unprocessable')
/** The options or the model are not of their shape, or hold what the editor has no place for; `errors` has one line a problem. */
export const ModelRefused = defineFailure('ModelRefused', 'Unprocessable')
/** An object that the work needs may not be read by the caller. */
export const ObjectRefused = defineFailure('ObjectRefused', 'Forbidden')

/** Finds the editor of a resource. */
export interface EditorCatalog {
  /**
   * The ResourceEditor of the cluster, read as the caller, filled up by the built-in one; the built-in one where the
   * cluster has none or does not show it. One request. `resource` has version and plural. Failures: EditorMissing.
   */
  find(cluster: MemberCluster, resource: ResourceId, signal: AbortSignal): Outcome<Failure<'EditorMissing'> | MemberFailure, ResourceEditor>
}
export const EditorCatalogToken = token<EditorCatalog>('packages.EditorCatalog')

/** Installations that other programs of the same interface recorded in the cluster. Read only. */
export interface AppReleases {
  /** Undefined where the cluster has none, or does not show it to the caller. */
  find(cluster: MemberCluster, release: ReleaseKey, signal: AbortSignal): Outcome<MemberFailure, AppRelease | undefined>
}
export const AppReleasesToken = token<AppReleases>('packages.AppReleases')
