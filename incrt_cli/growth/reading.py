"""What a gate that sees directional energy reads at a look, and how it reports it."""

from __future__ import annotations

from dataclasses import dataclass

from incrt_cli.geometry.functional import Thresholds
from incrt_cli.growth.ledger import Ledger
from incrt_cli.growth.lookout import Look
from incrt_cli.growth.records import Certificate, Check
from incrt_cli.growth.tally import Tally


@dataclass(frozen=True)
class Reading:
    """Of layer number `layer` with `heads` heads that own `planes` planes; `total` is ‖A‖_F, `gamma` Γ,
    `drift` what W has changed by without an event, `releases` √E_h of every head that owns a plane.
    """

    layer: int
    heads: int
    planes: int
    limits: Thresholds
    total: float
    gamma: float
    drift: float
    look: Look
    releases: dict[int, float]

    @property
    def captured_share(self) -> float:
        """`1 − Γ²/‖A‖_F²`."""
        return 1.0 - (self.gamma / self.total) ** 2 if self.total > 0.0 else 0.0

    def check(self, step: int, w: float, projected: int | None) -> Check:
        """`w` is W; `projected`: heads at the end, where that can be told."""
        return Check(
            step=step,
            layer=self.layer,
            heads=self.heads,
            lambda_max=self.look.extremes.lambda_max,
            lambda_min=self.look.extremes.lambda_min,
            theta=self.limits.theta,
            phi_g=self.limits.phi_g,
            gamma=self.gamma,
            captured_share=self.captured_share,
            min_release=min(self.releases.values(), default=None),
            w=w,
            drift_w=self.drift,
            tracker_error=self.look.error,
            exact=self.look.values is not None,
            planes=self.planes,
            projected=projected,
            releases=self.releases,
        )

    def certificate(
        self, ledger: Ledger, tally: Tally, patience: int, tracker_error: float | None
    ) -> Certificate:
        """Would the gate grow, would it prune? Neither, and quiet for `patience` checks: it has stopped."""
        extremes, limits = self.look.extremes, self.limits
        sufficient = not limits.exceeded(extremes.lambda_max, extremes.lambda_min)
        minimal = all(release >= limits.phi_g for release in self.releases.values())
        return Certificate(
            layer=self.layer,
            heads=self.heads,
            sufficient=sufficient,
            minimal=minimal,
            lambda_max=extremes.lambda_max,
            lambda_min=extremes.lambda_min,
            theta=limits.theta,
            phi_g=limits.phi_g,
            min_release=min(self.releases.values(), default=None),
            gamma=self.gamma,
            captured_share=self.captured_share,
            events=tally.events,
            last_event_step=tally.last_event_step,
            quiet_checks=tally.quiet_checks,
            stopped_by_itself=sufficient and minimal and tally.quiet_checks >= patience,
            tracker_error=tracker_error,
            planes=self.planes,
            w_start=ledger.start,
            w_end=ledger.now,
            w_events=ledger.by_events,
            w_drift=ledger.by_drift,
            event_limit=ledger.start / limits.least_drop if limits.theta > 0 else 0.0,
        )
