import { defineFailure } from '../kernel/failure.ts'

export const OrganizationMissing = defineFailure('OrganizationMissing', 'NotFound')
export const OrganizationNameRefused = defineFailure('OrganizationNameRefused', 'Unprocessable')
export const OrganizationFieldRefused = defineFailure('OrganizationFieldRefused', 'Unprocessable')
export const OrganizationCreationDenied = defineFailure('OrganizationCreationDenied', 'Forbidden')
/** The organization has an owner, who may delete it. */
export const OrganizationHasOwner = defineFailure('OrganizationHasOwner', 'Conflict')
export const OrganizationInUse = defineFailure('OrganizationInUse', 'Conflict')
/** The row has changed since the version that the caller named. */
export const OrganizationChanged = defineFailure('OrganizationChanged', 'StaleVersion')

export const TeamMissing = defineFailure('TeamMissing', 'NotFound')
export const TeamNameRefused = defineFailure('TeamNameRefused', 'Unprocessable')
export const TeamTypeUnknown = defineFailure('TeamTypeUnknown', 'Invalid')
export const TeamRolesRefused = defineFailure('TeamRolesRefused', 'Invalid')
export const TeamLevelRefused = defineFailure('TeamLevelRefused', 'Unprocessable')
/** The team Owners cannot be deleted, renamed, or given a lower level. */
export const OwnersTeamFixed = defineFailure('OwnersTeamFixed', 'Conflict')
export const TeamChanged = defineFailure('TeamChanged', 'StaleVersion')

export const MemberMissing = defineFailure('MemberMissing', 'NotFound')
export const AccountNotEligible = defineFailure('AccountNotEligible', 'Unprocessable')
export const LastOwner = defineFailure('LastOwner', 'Conflict')
export const AlreadyTeamMember = defineFailure('AlreadyTeamMember', 'Conflict')
/** The change would give, or take from another user, more than the caller holds. */
export const BeyondOwnRights = defineFailure('BeyondOwnRights', 'Forbidden')
export const MembershipActionUnknown = defineFailure('MembershipActionUnknown', 'Invalid')
export const OrganizationTokenMissing = defineFailure('OrganizationTokenMissing', 'NotFound')

export const InvitationMissing = defineFailure('InvitationMissing', 'NotFound')
export const InvitationRefused = defineFailure('InvitationRefused', 'Unprocessable')
/** The invited or accepting user is already a member. */
export const AlreadyMember = defineFailure('AlreadyMember', 'Conflict')
/**
 * The invitation is expired, withdrawn or used, or its inviter may no longer give it. The failure does not disclose
 * which.
 */
export const InvitationGone = defineFailure('InvitationGone', 'Gone')
/** The invitation is for another address. */
export const InvitationForAnother = defineFailure('InvitationForAnother', 'Forbidden')

/** The daily limit of invitation mails for a user or an address is reached. */
export const TooManyInvitations = defineFailure('TooManyInvitations', 'Backoff')

export const PolicyRefused = defineFailure('PolicyRefused', 'Unprocessable')
/** The policy has changed since the version that the caller named. */
export const PolicyChanged = defineFailure('PolicyChanged', 'StaleVersion')

export const RobotMissing = defineFailure('RobotMissing', 'NotFound')
export const RobotRefused = defineFailure('RobotRefused', 'Unprocessable')
/** The robot account has changed since the version that the caller named. */
export const RobotChanged = defineFailure('RobotChanged', 'StaleVersion')
export const RobotTokenMissing = defineFailure('RobotTokenMissing', 'NotFound')
