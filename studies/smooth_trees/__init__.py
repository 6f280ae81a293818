"""Trees by smooth sensitivity, as SSRL's section 6 proposes, and the real ε of a choice by smooth sensitivity."""
