"""Line-API building blocks shared by panes and screens."""
